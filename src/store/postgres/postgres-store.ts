import { LiveBuffer } from "../live/live-buffer.ts";
import { postgresAddress } from "../postgres-address.ts";
import { Dispatch, type JobsPlace, placeOfJobs, type WakingOptions } from "../postgres-jobs/dispatch.ts";
import { PostgresLive } from "../postgres-live/postgres-live.ts";
import { Connection, type ConnectionOptions } from "../postgres-wire/connection.ts";
import { type Network, realNetwork } from "../postgres-wire/pg-driver.ts";
import { isConnectionLost, postgresError } from "../postgres-wire/postgres-error.ts";
import { ReadyChannel } from "../postgres-wire/ready-channel.ts";
import { keyIn } from "../postgres-wire/redaction-key.ts";
import { assertUsable, clockOffsetOf, onPrimary } from "../postgres-wire/usable-server.ts";
import { NO_NOTES } from "../sql/owners.ts";
import { Readers } from "../sql/planned/readers.ts";
import { SqlStore } from "../sql/sql-store.ts";
import { afterMs, type SqlStoreOptions, storeParts } from "../sql/store-options.ts";
import { assertMigrated, migrate } from "./migrate.ts";
import { OwnerSession } from "./owner-session.ts";
import { PostgresDriver, type PostgresDriverParts } from "./postgres-driver.ts";

export type PostgresStoreOptions = SqlStoreOptions &
  WakingOptions & {
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
      let jobs: JobsPlace | null;
      try {
        await assertUsable(first, name, acceptLostCommits);
        clockOffset = await clockOffsetOf(first);
        if (readOnly) await assertMigrated(first, schema, name);
        else await migrate(first, schema, name);
        jobs = readOnly ? null : await placeOfJobs(first, schema, options);
      } finally {
        await first.end();
      }
      const { now = null, after = afterMs, onCommit = () => undefined } = options;
      const channel = readOnly || options.readySignals === false ? null : new ReadyChannel(connect, schema);
      const readers = new Readers(connect, isConnectionLost);
      const parts = {
        name,
        schema,
        isReadOnly: readOnly,
        connect,
        readers,
        owner: await OwnerSession.take(connect, schema, { now, after }),
        now,
        clockOffset,
        redactionKey: keyIn(options.redactionKey),
        dispatch: new Dispatch({ url, network, readers, channel, jobs }),
        live: new LiveBuffer(new PostgresLive({ connect, name, isReadOnly: readOnly }), options.liveTimers),
        onCommit,
      };
      return new PostgresStore(parts, options);
    } catch (error) {
      throw postgresError(error, name);
    }
  }
}
