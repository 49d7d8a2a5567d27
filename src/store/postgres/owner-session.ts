import { hash, randomInt } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { StoreUnavailableError } from "../../core/errors.ts";
import type { Connection } from "../postgres-wire/connection.ts";
import type { OwnerLiveness, OwnerWatch } from "../sql/owners.ts";

/** A lock that is free is looked at again after this long: a connection may break while its process lives. */
const BETWEEN_LOOKS_MS = 500;
const LOOKS = 2;
/**
 * Of a session that is younger than the owner's last renewal. If a network has cut off all sessions, this one may only
 * have been faster than the owner's: a lost first packet is sent again after a second.
 */
const LOOKS_OF_A_NEWCOMER = 4;
const RECONNECT_MS = 250;
/** A worker that waits for its lock gives up after this long; the lock is still taken once that is possible. */
const PATIENCE_MS = 10_000;

/**
 * Changes whenever the server drops all sessions at once. A restart has another start time. If a session of the server
 * is killed, it ends all of them and keeps its start time, but begins its statistics again. Roles without further rights
 * see both. Older servers than 15 keep their statistics elsewhere.
 */
const SERVER_ERA = `
  SELECT CASE WHEN current_setting('server_version_num')::int >= 150000
    THEN concat(extract(epoch FROM pg_postmaster_start_time()), ' ', extract(epoch FROM stats_reset)) END AS era
    FROM pg_stat_bgwriter WHERE stats_reset IS NOT NULL`;

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
  /** Names the server and its uninterrupted time in which this owner began; empty if that is unknown. */
  readonly #firstEra: string;
  readonly #clocks: OwnerClocks;
  #connection: Connection;
  /** By the server's clock. A server that has lost all sessions at once frees all locks: those prove nothing. */
  #since = 0;
  #generation = 1;
  #isEnded = false;
  #ready: Promise<void> = Promise.resolve();
  /** How often in a row the lock of an owner was found free, 0 if it was held; and its last renewal before that. */
  readonly #free = new Map<string, { readonly looks: number; readonly renewedAt: number }>();

  private constructor(
    connection: Connection,
    connect: () => Promise<Connection>,
    schema: string,
    era: string,
    clocks: OwnerClocks,
  ) {
    this.#connection = connection;
    this.#connect = connect;
    this.#number = randomInt(1, 2 ** 31 - 1);
    this.#space = lockSpace(schema);
    this.#firstEra = era;
    this.#clocks = clocks;
    this.owner = `${hostname()}/${process.pid}/pg-${this.#number}${era}`;
  }

  static async take(
    connect: () => Promise<Connection>,
    schema: string,
    clocks: OwnerClocks,
  ): Promise<OwnerSession> {
    const connection = await connect();
    const session = new OwnerSession(connection, connect, schema, await eraOf(connection), clocks);
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
    const limit = new AbortController();
    const isLate = sleep(PATIENCE_MS, true, { signal: limit.signal }).catch(() => false);
    const late = await Promise.race([this.#ready.then(() => false), isLate]);
    limit.abort();
    if (late)
      throw new StoreUnavailableError(
        "The database cannot be reached, so other workers cannot see that this one lives: nothing was begun; check the server, and resume.",
        { reason: "disconnected" },
      );
  }

  get isWitness(): boolean {
    return !this.#connection.isPooled;
  }

  /**
   * A free lock counts only if the server cannot have freed it with all others: if this session is older than the
   * owner's last renewal, or if the server has not dropped its sessions since the owner began.
   */
  livenessOf(owner: string, renewedAt: number): OwnerLiveness {
    const free = this.#free.get(owner)?.looks;
    if (free === undefined) return "unknown";
    if (free === 0) return "alive";
    return free >= this.#looksAt(owner, renewedAt) ? "gone" : "unknown";
  }

  async look(owner: string, renewedAt: number): Promise<OwnerLiveness> {
    const number = numberOf(owner);
    if (number === null || owner === this.owner || !this.isWitness) return "unknown";
    await this.held();
    const needed = this.#looksAt(owner, renewedAt);
    // One look shows whether the lock is held, where it proves nothing if it is free.
    const looks = Number.isFinite(needed) ? needed : 1;
    const connection = this.#connection;
    // One more look is enough at an owner that was gone and has renewed nothing since: of several runs, each is claimed.
    const seen = this.#free.get(owner);
    const wasGone = seen !== undefined && seen.looks >= looks && seen.renewedAt >= renewedAt;
    let free = wasGone ? looks - 1 : 0;
    try {
      while (!(await this.#isLocked(connection, number)) && ++free < looks) await this.#betweenLooks();
    } catch (error) {
      // What another session finds out does not follow from what this one has seen.
      if (!connection.isLost) throw error;
      return "unknown";
    }
    const last = wasGone ? seen.renewedAt : renewedAt;
    this.#free.set(owner, { looks: free < looks ? 0 : free, renewedAt: last });
    return this.livenessOf(owner, renewedAt);
  }

  async #betweenLooks(): Promise<void> {
    await new Promise<void>((resolve) => this.#clocks.after(BETWEEN_LOOKS_MS, resolve));
  }

  /** How often in a row the lock of an owner has to be free to count. */
  #looksAt(owner: string, renewedAt: number): number {
    if (this.#since < renewedAt) return LOOKS;
    // After a break the other sessions may have broken with this one.
    const isNewcomer = this.#generation === 1 && this.#firstEra !== "" && eraIn(owner) === this.#firstEra;
    return isNewcomer ? LOOKS_OF_A_NEWCOMER : Number.POSITIVE_INFINITY;
  }

  async release(): Promise<void> {
    this.#isEnded = true;
    await this.#connection.end();
  }

  /** By the owner. Claims of its runs hold the lock too, but share it. */
  async #isLocked(connection: Connection, number: number): Promise<boolean> {
    const rows = await connection.rows(
      "SELECT 1 AS found FROM pg_locks WHERE locktype = 'advisory' AND classid = ? AND objid = ? AND granted AND mode = 'ExclusiveLock' LIMIT 1",
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
    while (!this.#isEnded) {
      try {
        this.#connection = await this.#connect();
        this.#free.clear();
        await this.#lock();
        this.#watch();
        return;
      } catch {
        await sleep(RECONNECT_MS);
      }
    }
  }

  /**
   * The lock of an owner that was seen to be free, for a claim to take until the end of its transaction: an owner that
   * has come back keeps its run. Null if nothing was seen.
   */
  lockOf(owner: string): readonly [number, number] | null {
    const number = numberOf(owner);
    const isFree = (this.#free.get(owner)?.looks ?? 0) > 0;
    return number === null || !this.isWitness || !isFree ? null : [this.#space, number];
  }
}

/** Locks of another schema of the same database are other locks. */
function lockSpace(schema: string): number {
  return hash("sha256", `pawl ${schema}`, "buffer").readInt32BE(0);
}

/** As a part of an owner's name. */
async function eraOf(connection: Connection): Promise<string> {
  // Where the role may not read it, the lease decides.
  const [row] = await connection.rows(SERVER_ERA).catch(() => []);
  const era = row?.optionalText("era") ?? null;
  return era === null ? "" : `-${hash("sha256", era, "hex").slice(0, 16)}`;
}

function numberOf(owner: string): number | null {
  const number = /\/pg-(\d+)(-[0-9a-f]+)?$/.exec(owner)?.[1];
  return number === undefined ? null : Number(number);
}

function eraIn(owner: string): string {
  return /\/pg-\d+(-[0-9a-f]+)$/.exec(owner)?.[1] ?? "";
}
