import type { LiveParts } from "../live-parts.ts";
import type { Dispatch } from "../postgres-jobs/dispatch.ts";
import type { Connection } from "../postgres-wire/connection.ts";
import {
  isConnectionLost,
  isWorthRepeating,
  openedReadOnly,
  postgresError,
  unknownCommit,
} from "../postgres-wire/postgres-error.ts";
import type { DatabaseReport } from "../report/database-report.ts";
import type { Driver } from "../sql/driver.ts";
import type { Leases } from "../sql/leases.ts";
import { newerSchema } from "../sql/migration.ts";
import { PlannedCommits, type PlanServer } from "../sql/planned/planned-commits.ts";
import type { Readers } from "../sql/planned/readers.ts";
import type { ServerSession, Statement } from "../sql/planned/server-session.ts";
import { get, type SqlScript } from "../sql/script.ts";
import type { Transaction } from "../sql/transaction.ts";
import type { Write } from "../sql/write.ts";
import type { StoreDescription } from "../store.ts";
import { commitOrder } from "./commit-order.ts";
import { LATEST_VERSION } from "./migrate.ts";
import type { OwnerSession } from "./owner-session.ts";
import { planContext, runKeyOf } from "./plan-context.ts";
import { readServer } from "./server-report.ts";
import { SERVER_NOW, statementsOf } from "./write-statements.ts";

export type PostgresDriverParts = {
  readonly name: string;
  readonly schema: string;
  readonly isReadOnly: boolean;
  readonly connect: () => Promise<Connection>;
  readonly readers: Readers;
  readonly owner: OwnerSession;
  readonly leases: Leases;
  /** Replaces the server's clock, for tests; null for the server's. */
  readonly now: (() => number) | null;
  /** The server's clock minus ours, when the store was opened. */
  readonly clockOffset: number;
  readonly redactionKey: () => Uint8Array;
  readonly dispatch: Dispatch;
  readonly live: LiveParts;
  readonly onCommit: (intents: readonly string[]) => void;
};

/** A PostgreSQL database: one connection that writes, some that read, and the one that holds the owner's lock. */
export class PostgresDriver implements Driver {
  readonly name: string;
  readonly isReadOnly: boolean;
  readonly live: LiveParts;
  readonly changeLog = commitOrder;
  readonly #parts: PostgresDriverParts;
  readonly #server: Server;
  readonly #commits: PlannedCommits;

  constructor(parts: PostgresDriverParts) {
    const { name, isReadOnly, leases, owner, onCommit } = parts;
    this.name = name;
    this.isReadOnly = isReadOnly;
    this.live = parts.live;
    this.#parts = parts;
    this.#server = new Server(parts);
    this.#commits = new PlannedCommits(this.#server, planContext(leases, owner, new Map()), onCommit);
  }

  now(): number {
    return this.#server.now();
  }

  write<T>(intent: string, runId: string | null, script: (tx: Transaction) => SqlScript<T>): Promise<T> {
    if (this.isReadOnly) return Promise.reject(openedReadOnly(this.name));
    return this.#commits.submit(intent, runId, script);
  }

  async read<T>(script: () => SqlScript<T>): Promise<T> {
    try {
      return await this.#parts.readers.run(script);
    } catch (error) {
      throw postgresError(error, this.name);
    }
  }

  /** The server does the work, and this process only waits. */
  readLong<T>(script: () => SqlScript<T>): Promise<T> {
    return this.read(script);
  }

  announce(): void {
    this.#parts.dispatch.announce();
  }

  watch(listener: () => void, onNotice: (reason: string) => void): Promise<() => void> {
    return this.#parts.dispatch.watch(listener, onNotice);
  }

  /** The server counts none that would be cheaper to ask for than what is wanted. */
  commitsSeen(): null {
    return null;
  }

  async close(ownerLock: "release" | "hold"): Promise<void> {
    await this.#commits.close();
    const { readers, dispatch } = this.#parts;
    await Promise.all([this.#server.end(), readers.end(), dispatch.close(), this.live.close()]);
    if (ownerLock === "release") await this.#parts.owner.release();
  }

  async vanish(): Promise<void> {
    this.#commits.abandon();
    const { readers, owner, dispatch } = this.#parts;
    const others = [readers.end(), dispatch.close(), owner.release(), this.live.close()];
    await Promise.all([this.#server.end(), ...others]);
  }

  /** The server checks its own pages; a damaged one fails the query that reads it. */
  async checkIntegrity(): Promise<readonly string[]> {
    const checked = await this.read(() => get("SELECT current_setting('data_checksums') AS checksums"));
    return checked?.text("checksums") === "off"
      ? ["The server does not check the pages of its files (data_checksums is off): it cannot notice damage."]
      : [];
  }

  /** Over a connection of its own: the others are in use, and its age is no part of what it finds. */
  async inspect(): Promise<DatabaseReport> {
    try {
      const connection = await this.#parts.connect();
      try {
        return { database: "postgres", server: await readServer(connection, this.#parts.schema) };
      } finally {
        await connection.end();
      }
    } catch (error) {
      throw postgresError(error, this.name);
    }
  }

  async describe(): Promise<StoreDescription> {
    const row = await this.read(() => get(DESCRIPTION));
    return {
      database: "postgres",
      schemaVersion: row?.int("version") ?? 0,
      sizeBytes: row?.int("bytes") ?? 0,
      logBytes: null,
    };
  }

  isOwnFile(): Promise<boolean> {
    return Promise.resolve(false);
  }

  redactionKey(): Uint8Array {
    return this.#parts.redactionKey();
  }
}

const DESCRIPTION = `SELECT (SELECT max(number) FROM migrations) AS version,
    (SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
      WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r') AS bytes`;

const NOW_AND_VERSION: Statement = {
  text: `SELECT ${SERVER_NOW} AS now, (SELECT max(number) FROM migrations) AS version`,
  values: [],
};

const END_SESSION =
  "SELECT pg_terminate_backend(pid, 2000) FROM pg_stat_activity WHERE pid = ? AND backend_start::text = ?";

/** The server, as the commits of this process use it. */
class Server implements PlanServer {
  readonly name: string;
  readonly #connect: () => Promise<Connection>;
  readonly #dispatch: Dispatch;
  readonly #now: (() => number) | null;
  #connection: Connection | null = null;
  /** The server's clock minus ours. */
  #offset: number;

  constructor({ name, connect, dispatch, now, clockOffset }: PostgresDriverParts) {
    this.name = name;
    this.#offset = clockOffset;
    this.#connect = connect;
    this.#dispatch = dispatch;
    this.#now = now;
  }

  now(): number {
    return this.#now?.() ?? Date.now() + this.#offset;
  }

  async connect(): Promise<ServerSession> {
    const lost = this.#connection;
    this.#connection = await this.#connect();
    // What the old session still does must not come after what this one finds out.
    if (lost !== null && !lost.isPooled)
      await this.#connection.rows(END_SESSION, lost.backend).catch(() => undefined);
    return this.#connection;
  }

  async end(): Promise<void> {
    await this.#connection?.end();
  }

  async begin(session: ServerSession, runIds: readonly string[]): Promise<number> {
    const answers = await session.exchange([...session.begin, ...lockRows(runIds), NOW_AND_VERSION]);
    const [row] = answers.at(-1) ?? [];
    const version = row?.int("version") ?? 0;
    // Rows that this program writes would not be what a newer one expects.
    if (version > LATEST_VERSION) throw newerSchema(this.name, version, LATEST_VERSION);
    this.#offset = (row?.int("now") ?? 0) - Date.now();
    return this.#now?.() ?? row?.int("now") ?? 0;
  }

  statementsOf(writes: readonly Write[]): readonly Statement[] {
    return statementsOf(writes, this.#now?.() ?? null);
  }

  hintsOf(writes: readonly Write[]): readonly Statement[] {
    return this.#dispatch.hintsOf(writes);
  }

  stopHints(): void {
    this.#dispatch.stopHints();
  }

  isConnectionLost(error: unknown): boolean {
    return isConnectionLost(error);
  }

  isWorthRepeating(error: unknown): boolean {
    return isWorthRepeating(error);
  }

  errorFor(error: unknown): unknown {
    return postgresError(error, this.name);
  }

  unknownCommit(cause: unknown): Error {
    return unknownCommit(this.name, cause);
  }
}

function lockRows(runIds: readonly string[]): Statement[] {
  if (runIds.length === 0) return [];
  const text = "SELECT 1 AS found FROM runs WHERE run_key = ANY(?::uuid[]) ORDER BY run_key FOR UPDATE";
  return [{ text, values: [runIds.map(runKeyOf)] }];
}
