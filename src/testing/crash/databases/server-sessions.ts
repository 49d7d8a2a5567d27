import {
  loadPg,
  type PgClient,
  type PgClientOptions,
  type PgModule,
} from "../../../store/postgres/pg-driver.ts";

/** A session that is in use: it can be ended as a goodbye or a kill ends it, or broken. */
export type ServerSession = {
  readonly client: PgClient;
  readonly onBroken: (listener: (error?: Error) => void) => void;
  /** The transaction is rolled back and the locks are free, as at the end of a session. */
  readonly end: () => Promise<void>;
  /** Breaks the connection. */
  readonly destroy: () => void;
};

/** What the server does at the end of a session. */
const ENDING = ["ROLLBACK", "SELECT pg_advisory_unlock_all()"] as const;

/**
 * The sessions that the simulated processes of an exploration have on the server, one process after the other. A new
 * session would read the catalogue again and prepare every statement: with new ones a schedule took four times as long.
 */
export class ServerSessions {
  readonly #idle: { readonly client: PgClient; readonly isPipelined: boolean }[] = [];
  readonly #listeners = new Map<PgClient, ((error?: Error) => void)[]>();
  readonly #clients = new Set<PgClient>();
  #pg: PgModule | null = null;

  async load(): Promise<PgModule> {
    this.#pg ??= await loadPg();
    return this.#pg;
  }

  async take(options: PgClientOptions): Promise<ServerSession> {
    const isPipelined = options.pipeline === true;
    const i = this.#idle.findIndex((each) => each.isPipelined === isPipelined);
    const [idle] = i === -1 ? [] : this.#idle.splice(i, 1);
    const client = idle?.client ?? (await this.#connect(options));
    const listeners: ((error?: Error) => void)[] = [];
    this.#listeners.set(client, listeners);
    return {
      client,
      onBroken: (listener) => void listeners.push(listener),
      end: () => this.#reset(client, isPipelined),
      destroy: () => void client.connection.stream.destroy(),
    };
  }

  /** Ends all of them. */
  async end(): Promise<void> {
    this.#idle.length = 0;
    await Promise.all([...this.#clients].map((client) => client.end().catch(() => undefined)));
  }

  async #connect(options: PgClientOptions): Promise<PgClient> {
    const { Client } = await this.load();
    const client = new Client(options);
    const onBroken = (error?: Error) => {
      this.#clients.delete(client);
      for (const listener of this.#listeners.get(client) ?? []) listener(error);
      this.#listeners.delete(client);
    };
    client.on("error", onBroken);
    client.on("end", onBroken);
    await client.connect();
    this.#clients.add(client);
    return client;
  }

  async #reset(client: PgClient, isPipelined: boolean): Promise<void> {
    this.#listeners.delete(client);
    if (!this.#clients.has(client)) return;
    try {
      await Promise.all(ENDING.map((text) => client.query({ text })));
      this.#idle.push({ client, isPipelined });
    } catch {
      // It is broken, and so it has ended too.
      client.connection.stream.destroy();
    }
  }
}
