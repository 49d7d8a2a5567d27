import { StoreUnavailableError, StoreUnusableError } from "../../core/errors.ts";
import { postgresAddress } from "../postgres-address.ts";
import { Connection, type ConnectionOptions } from "../postgres-wire/connection.ts";
import { type Network, realNetwork } from "../postgres-wire/pg-driver.ts";
import { isConnectionLost, postgresError } from "../postgres-wire/postgres-error.ts";
import { ReadyChannel } from "../postgres-wire/ready-channel.ts";
import { NO_NOTES } from "../sql/owners.ts";
import { Readers } from "../sql/planned/readers.ts";
import { SqlStore } from "../sql/sql-store.ts";
import { afterMs, type SqlStoreOptions, storeParts } from "../sql/store-options.ts";
import { assertMigrated, migrate } from "./migrate.ts";
import { OwnerSession } from "./owner-session.ts";
import { PostgresDriver, type PostgresDriverParts } from "./postgres-driver.ts";

export type PostgresStoreOptions = SqlStoreOptions & {
  /**
   * The schema of the tables; `pawl` by default, or the one that the address names (`?schema=agents`). It is created if it
   * is missing.
   */
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
  /**
   * Tells the workers of other processes at once that a run may be ready (LISTEN and NOTIFY, over a session of its own);
   * true by default. Without it they look every second.
   */
  readonly readySignals?: boolean;
  /** Creates nothing, and refuses every write. */
  readonly readOnly?: boolean;
};

/** The store on a PostgreSQL database: for several machines. */
export class PostgresStore extends SqlStore {
  private constructor(parts: Omit<PostgresDriverParts, "leases">, options: PostgresStoreOptions) {
    const mine = storeParts(parts.owner, NO_NOTES, options);
    super(new PostgresDriver({ ...parts, leases: mine.leases }), mine);
  }

  /** Connects, and creates or migrates the tables if that is needed. The network is replaced by tests. */
  static async open(
    address: string,
    options: PostgresStoreOptions = {},
    network: Network = realNetwork,
  ): Promise<PostgresStore> {
    const { acceptLostCommits = false, readOnly = false } = options;
    const { url, schema, name } = postgresAddress(address, options.schema);
    const where: ConnectionOptions = { url, schema };
    const connect = async () => onPrimary(await Connection.open(network, where));
    try {
      const first = await Connection.open(network, where);
      let clockOffset: number;
      try {
        await assertUsable(first, name, acceptLostCommits);
        clockOffset = await clockOffsetOf(first);
        if (readOnly) await assertMigrated(first, schema, name);
        else await migrate(first, schema, name);
      } finally {
        await first.end();
      }
      const { now = null, after = afterMs, onCommit = () => undefined } = options;
      const parts = {
        name,
        isReadOnly: readOnly,
        connect,
        readers: new Readers(connect, isConnectionLost),
        owner: await OwnerSession.take(connect, schema, { now, after }),
        now,
        clockOffset,
        redactionKey: keyIn(options.redactionKey),
        channel: readOnly || options.readySignals === false ? null : new ReadyChannel(connect, schema),
        onCommit,
      };
      return new PostgresStore(parts, options);
    } catch (error) {
      throw postgresError(error, name);
    }
  }
}

/** A store that connects again while a replica takes the place of its server waits for that, as for one that starts. */
async function onPrimary(connection: Connection): Promise<Connection> {
  if (!connection.isReplica) return connection;
  await connection.end();
  throw Object.assign(new Error("The server is a replica."), { code: "57P03" });
}

/** Until the first intent has read the server's clock: a process that only reads judges leases by it, too. */
async function clockOffsetOf(connection: Connection): Promise<number> {
  const [row] = await connection.rows("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now");
  return (row?.int("now") ?? 0) - Date.now();
}

/** A replica, or a server that acknowledges what it may lose, breaks every promise. */
async function assertUsable(connection: Connection, name: string, acceptLostCommits: boolean): Promise<void> {
  const [row] = await connection.rows(
    `SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commits,
            current_setting('server_encoding') AS encoding`,
  );
  if (connection.isReplica)
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
