import { ConfigurationError, StoreUnavailableError, StoreUnusableError } from "../../core/errors.ts";
import { Leases } from "../sql/leases.ts";
import { NO_NOTES } from "../sql/owners.ts";
import { SqlStore } from "../sql/sql-store.ts";
import { WorkInProgress } from "../work-in-progress.ts";
import { Connection, type ConnectionOptions } from "./connection.ts";
import { assertMigrated, migrate } from "./migrate.ts";
import { OwnerSession } from "./owner-session.ts";
import { loadPg, type PgModule } from "./pg-driver.ts";
import { PostgresDriver, type PostgresDriverParts } from "./postgres-driver.ts";
import { postgresError } from "./postgres-error.ts";
import { Readers } from "./readers.ts";

export type PostgresStoreOptions = {
  /** The schema of the tables; `pawl` by default. It is created if it is missing. */
  readonly schema?: string;
  /**
   * Accepts a server whose commits may be lost in a crash (`synchronous_commit = off` or `fsync = off`), after which
   * effects are repeated; false by default.
   */
  readonly acceptLostCommits?: boolean;
  /**
   * The key for digests of hidden values, 64 hex digits, the same for every process. By default there is none, and a run
   * that hides a secret is refused.
   */
  readonly redactionKey?: string;
  /** Creates nothing, and refuses every write. */
  readonly readOnly?: boolean;
  /** Milliseconds since 1970; for tests. By default the time of the system, on PostgreSQL that of the server. */
  readonly now?: () => number;
  /** A monotonic clock in milliseconds, used to watch the leases of others; for tests. By default that of the system. */
  readonly monotonic?: () => number;
  /** Calls back after so many milliseconds; the returned function cancels that. For tests; by default a timer of Node. */
  readonly after?: (ms: number, callback: () => void) => () => void;
  /** Called after every commit, for measurements. */
  readonly onCommit?: (intents: readonly string[]) => void;
};

/** The store on a PostgreSQL database: for several machines. */
export class PostgresStore extends SqlStore {
  private constructor(parts: Omit<PostgresDriverParts, "leases">, options: PostgresStoreOptions) {
    const work = new WorkInProgress();
    const monotonic = options.monotonic ?? (() => performance.now());
    const leases = new Leases(parts.owner, work, NO_NOTES, monotonic);
    super(new PostgresDriver({ ...parts, leases }), {
      owners: parts.owner,
      work,
      leases,
      after: options.after ?? afterMs,
    });
  }

  /**
   * Connects, and creates or migrates the tables if that is needed. `load` replaces the package `pg`, for tests of a
   * network that fails.
   */
  static async open(
    url: string,
    options: PostgresStoreOptions = {},
    load: () => Promise<PgModule> = loadPg,
  ): Promise<PostgresStore> {
    const { schema = "pawl", acceptLostCommits = false, readOnly = false } = options;
    const name = withoutPassword(url);
    const pg = await load();
    const where: ConnectionOptions = { url, schema, acceptLostCommits };
    const connect = () => Connection.open(pg, where);
    try {
      // Migrations are several statements in one text, which a pipeline does not take.
      const first = await Connection.open(pg, where, { isPipelined: false });
      try {
        await assertUsable(first, where, name);
        if (readOnly) await assertMigrated(first, schema, name);
        else await migrate(first, schema, name);
      } finally {
        await first.end();
      }
      const { now = null, after = afterMs, onCommit = () => undefined } = options;
      const owner = await OwnerSession.take(connect, schema, { now, after });
      const readers = new Readers(connect);
      return new PostgresStore(
        {
          name,
          isReadOnly: readOnly,
          connect,
          readers,
          owner,
          now,
          redactionKey: keyIn(options.redactionKey),
          onCommit,
        },
        options,
      );
    } catch (error) {
      throw postgresError(error, name);
    }
  }
}

/** A replica, or a server that acknowledges what it may lose, breaks every promise. */
async function assertUsable(
  connection: Connection,
  { acceptLostCommits }: ConnectionOptions,
  name: string,
): Promise<void> {
  const [row] = await connection.rows(
    `SELECT pg_is_in_recovery() AS replica, current_setting('fsync') AS fsync,
            current_setting('synchronous_commit') AS commits, current_setting('server_encoding') AS encoding`,
  );
  if (row?.flag("replica") === true)
    throw new StoreUnavailableError(
      `The database ${name} is a replica, or is being restored: name the primary server.`,
      { reason: "read_only" },
    );
  if (row?.text("encoding") !== "UTF8")
    throw new StoreUnusableError(
      `The database ${name} has the encoding ${row?.text("encoding")}: create one with UTF8, and name that.`,
      { reason: "encoding" },
    );
  const off = [
    row.text("fsync") === "off" ? "fsync" : null,
    row.text("commits") === "off" ? "synchronous_commit" : null,
  ];
  const [setting] = off.filter((each) => each !== null);
  if (setting === undefined || acceptLostCommits) return;
  throw new StoreUnusableError(
    `The database ${name} has ${setting} = off: it acknowledges commits that a crash loses, and then effects would be repeated. Set ${setting} to on, or pass acceptLostCommits: true if that is what you want.`,
    { reason: "lost_commits" },
  );
}

/** The address, as errors show it. */
function withoutPassword(url: string): string {
  try {
    const { protocol, host, pathname } = new URL(url);
    return `${protocol}//${host}${pathname}`;
  } catch {
    throw new ConfigurationError(
      "The address of the PostgreSQL store is not a URL: use postgres://user@host:5432/database.",
    );
  }
}

/** There is no file beside the database in which it could be: every process has to be given the same one. */
function keyIn(given: string | undefined): () => Uint8Array {
  return () => {
    if (given !== undefined && /^[0-9a-f]{64}$/i.test(given)) return Buffer.from(given, "hex");
    throw new StoreUnavailableError(
      "A store on PostgreSQL needs a key for the digests of secrets, the same for every process: pass redactionKey (64 hex digits, from `openssl rand -hex 32`) to openStore, set PAWL_REDACTION_KEY for the command line, or give the runner a policy.redactionKey.",
      { reason: "redaction_key" },
    );
  };
}

function afterMs(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms);
  return () => clearTimeout(timer);
}
