// A PostgreSQL server for the explorer.

import { startPostgres } from "../../store/postgres/postgres-server.ts";

export type ExplorerServer = { readonly database: string; readonly stop: () => Promise<void> };

/**
 * The server of this name: null for `sqlite`, the one at an address, or for `postgres` one that is started here. That one
 * does not wait for its disk: no crash of the explorer is one of the server.
 */
export async function explorerServer(name: string): Promise<ExplorerServer | null> {
  if (name === "sqlite") return null;
  if (name !== "postgres") return { database: name, stop: () => Promise.resolve() };
  const server = await startPostgres("fsync=off", "full_page_writes=off");
  return { database: server.url, stop: () => server.stop() };
}
