import { hash, randomInt } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { OwnerLiveness, OwnerWatch } from "../sql/owners.ts";
import type { Connection } from "./connection.ts";

/** A lock that is free is looked at again after this long: a connection may break while its process lives. */
const BETWEEN_LOOKS_MS = 500;
const RECONNECT_MS = 250;

/** The time between two looks, and a clock that replaces the server's in tests. */
export type OwnerClocks = {
  readonly now: (() => number) | null;
  readonly after: (ms: number, callback: () => void) => () => void;
};

/**
 * Shows that this process lives: an advisory lock of a session of its own. The server frees it when the session ends,
 * so a lock that can be taken permits taking the runs of its owner. It does not prove that the process is dead: its
 * connection may have broken. Behind a pooler sessions outlive their clients, so there only the lease counts.
 */
export class OwnerSession implements OwnerWatch {
  readonly owner: string;
  readonly #number: number;
  readonly #space: number;
  readonly #connect: () => Promise<Connection>;
  readonly #clocks: OwnerClocks;
  #connection: Connection;
  /** By the server's clock. A server that has lost all sessions at once frees all locks: those prove nothing. */
  #since = 0;
  #generation = 1;
  #isEnded = false;
  #ready: Promise<void> = Promise.resolve();
  readonly #seen = new Map<string, OwnerLiveness>();

  private constructor(
    connection: Connection,
    connect: () => Promise<Connection>,
    schema: string,
    clocks: OwnerClocks,
  ) {
    this.#connection = connection;
    this.#connect = connect;
    this.#clocks = clocks;
    this.#number = randomInt(1, 2 ** 31 - 1);
    this.#space = lockSpace(schema);
    this.owner = `${hostname()}/${process.pid}/pg-${this.#number}`;
  }

  static async take(
    connect: () => Promise<Connection>,
    schema: string,
    clocks: OwnerClocks,
  ): Promise<OwnerSession> {
    const session = new OwnerSession(await connect(), connect, schema, clocks);
    await session.#lock();
    session.#watch();
    return session;
  }

  /** Rises when the lock was lost and taken again: until a renewal has confirmed a run, nothing may begin for it. */
  get generation(): number {
    return this.#generation;
  }

  /** Resolves once the lock is held. */
  async held(): Promise<void> {
    await this.#ready;
  }

  get isWitness(): boolean {
    return !this.#connection.isPooled;
  }

  /** Free counts only if this session is older than the owner's last renewal. */
  livenessOf(owner: string, renewedAt: number): OwnerLiveness {
    const seen = this.#seen.get(owner) ?? "unknown";
    return seen === "gone" && this.#since >= renewedAt ? "unknown" : seen;
  }

  async look(owner: string): Promise<OwnerLiveness> {
    const number = numberOf(owner);
    if (number === null || owner === this.owner || !this.isWitness) return "unknown";
    await this.held();
    let liveness: OwnerLiveness = (await this.#isLocked(number)) ? "alive" : "gone";
    if (liveness === "gone") {
      await new Promise<void>((resolve) => this.#clocks.after(BETWEEN_LOOKS_MS, resolve));
      if (await this.#isLocked(number)) liveness = "alive";
    }
    this.#seen.set(owner, liveness);
    return liveness;
  }

  async release(): Promise<void> {
    this.#isEnded = true;
    await this.#connection.end();
  }

  async #isLocked(number: number): Promise<boolean> {
    const rows = await this.#connection.rows(
      "SELECT 1 AS found FROM pg_locks WHERE locktype = 'advisory' AND classid = ? AND objid = ? AND granted LIMIT 1",
      [this.#space, number],
    );
    return rows.length > 0;
  }

  async #lock(): Promise<void> {
    if (!this.isWitness) return;
    // A dead host is noticed by the server after a few seconds instead of two hours.
    for (const [name, value] of Object.entries({ idle: 1, interval: 1, count: 3 }))
      await this.#connection.rows(`SET tcp_keepalives_${name} = ${value}`);
    const [row] = await this.#connection.rows(
      `SELECT pg_advisory_lock(?::int, ?::int), (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS since`,
      [this.#space, this.#number],
    );
    this.#since = this.#clocks.now?.() ?? row?.int("since") ?? 0;
  }

  /** The lock is taken again at once: until then other processes may take the runs of this one. */
  #watch(): void {
    this.#connection.onLost(() => this.#reconnect());
  }

  #reconnect(): void {
    if (this.#isEnded) return;
    this.#generation += 1;
    this.#ready = this.#takeAgain();
    this.#ready.catch(() => undefined);
  }

  async #takeAgain(): Promise<void> {
    for (let tries = 0; ; tries++) {
      try {
        this.#connection = await this.#connect();
        this.#seen.clear();
        await this.#lock();
        this.#watch();
        return;
      } catch (error) {
        if (tries >= 40 || this.#isEnded) throw error;
        await sleep(RECONNECT_MS);
      }
    }
  }

  /** The lock of an owner, for a claim to take until the end of its transaction; null if locks prove nothing here. */
  lockOf(owner: string): readonly [number, number] | null {
    const number = numberOf(owner);
    return number === null || !this.isWitness ? null : [this.#space, number];
  }
}

/** Locks of another schema of the same database are other locks. */
function lockSpace(schema: string): number {
  return hash("sha256", `pawl ${schema}`, "buffer").readInt32BE(0);
}

function numberOf(owner: string): number | null {
  const number = /\/pg-(\d+)$/.exec(owner)?.[1];
  return number === undefined ? null : Number(number);
}
