import { StoreUnavailableError, StoreUnusableError } from "../../core/errors.ts";
import type { Connection } from "./connection.ts";

/** A store that connects again while a replica takes the place of its server waits for that, as for one that starts. */
export async function onPrimary(connection: Connection): Promise<Connection> {
  if (!connection.isReplica) return connection;
  await connection.end();
  throw Object.assign(new Error("The server is a replica."), { code: "57P03" });
}

/** Until the first intent has read the server's clock: a process that only reads judges leases by it, too. */
export async function clockOffsetOf(connection: Connection): Promise<number> {
  const [row] = await connection.rows("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now");
  return (row?.int("now") ?? 0) - Date.now();
}

/** A replica, or a server that acknowledges what it may lose, breaks every promise. */
export async function assertUsable(
  connection: Connection,
  name: string,
  acceptLostCommits: boolean,
): Promise<void> {
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
