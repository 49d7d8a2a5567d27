import type { CrashDatabase, WorldAddress, WorldDatabase } from "./crash-database.ts";
import { PooledSessions } from "./pooled-sessions.ts";
import { PostgresWorld, postgresWorlds } from "./postgres-worlds.ts";
import { SqliteWorld, sqliteWorlds } from "./sqlite-worlds.ts";

/** The databases of an exploration: on the server at this address, or files in this folder. */
export function crashDatabase(url: string | undefined, folder: string): Promise<CrashDatabase> {
  return url === undefined ? sqliteWorlds(folder) : postgresWorlds(url);
}

/** The database of a world that another process has made in this folder. */
export function worldDatabaseAt(folder: string, address: WorldAddress): WorldDatabase {
  if (address.kind === "sqlite") return new SqliteWorld(folder, { isReal: true });
  const sessions = new PooledSessions();
  return new PostgresWorld(address.url, address.schema, sessions, () => sessions.end());
}
