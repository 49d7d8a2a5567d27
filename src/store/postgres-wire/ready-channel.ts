import { ReadyListeners } from "../sql/ready-listeners.ts";
import type { Connection } from "./connection.ts";

const RECONNECT_MS = 1_000;

/** The most characters of a channel's name. */
const MAX_CHANNEL = 63;

/**
 * Tells other processes that a run may be ready, over a session of its own: a commit never waits for it. A lost message
 * costs nothing but time, since every worker also looks by itself.
 */
export class ReadyChannel {
  readonly #connect: () => Promise<Connection>;
  readonly #channel: string;
  readonly #listeners = new ReadyListeners();
  #session: Promise<Connection> | null = null;
  #isListening = false;
  #isAnnouncing = false;
  #retry: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(connect: () => Promise<Connection>, schema: string) {
    this.#connect = connect;
    this.#channel = `pawl_ready ${schema}`.slice(0, MAX_CHANNEL);
  }

  /** Announcements of one tick, and those made while one is under way, are one. */
  announce(): void {
    this.#listeners.call();
    if (this.#isAnnouncing || this.#isClosed) return;
    this.#isAnnouncing = true;
    setImmediate(() => void this.#notify());
  }

  async watch(listener: () => void): Promise<() => void> {
    const remove = this.#listeners.add(listener);
    if (!this.#isListening) await this.#listen().catch(() => this.#listenLater());
    return remove;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#retry !== null) clearTimeout(this.#retry);
    const session = await this.#session?.catch(() => null);
    await session?.end();
  }

  async #notify(): Promise<void> {
    try {
      const session = await this.#open();
      this.#isAnnouncing = false;
      await session.rows("SELECT pg_notify(?, '') IS NULL AS sent", [this.#channel]);
    } catch {
      this.#isAnnouncing = false;
    }
  }

  #open(): Promise<Connection> {
    this.#session ??= this.#connect().then((session) => {
      session.onLost(() => {
        this.#session = null;
        if (this.#isListening) this.#listenLater();
      });
      session.onNotification(() => this.#listeners.call());
      return session;
    });
    this.#session.catch(() => {
      this.#session = null;
    });
    return this.#session;
  }

  async #listen(): Promise<void> {
    const session = await this.#open();
    this.#isListening = true;
    // A pooler gives the session to others: nothing would be heard.
    if (!session.isPooled) await session.rows(`LISTEN "${this.#channel.replaceAll('"', '""')}"`);
  }

  /** What was announced meanwhile was not heard. */
  #listenLater(): void {
    if (this.#isClosed || this.#retry !== null) return;
    this.#retry = setTimeout(() => {
      this.#retry = null;
      this.#listen().then(
        () => this.#listeners.call(),
        () => this.#listenLater(),
      );
    }, RECONNECT_MS);
  }
}
