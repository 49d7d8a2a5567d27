// A PostgreSQL server for the explorer.

import { loadPg } from "../../../src/store/postgres-wire/pg-driver.ts";
import { startPostgres } from "../../store/postgres/postgres-server.ts";

export type ExplorerServer = {
  /** Its address. */
  readonly database: string;
  /** The explorer's schemas on it. */
  readonly schemas: () => Promise<readonly string[]>;
  readonly stop: () => Promise<void>;
};

/**
 * The server of this name: null for `sqlite`, the one at an address, or for `postgres` one that is started here. That one
 * does not wait for its disk: no crash of the explorer is one of the server.
 */
export async function explorerServer(name: string): Promise<ExplorerServer | null> {
  if (name === "sqlite") return null;
  if (name !== "postgres")
    return { database: name, schemas: () => schemasAt(name), stop: () => Promise.resolve() };
  const server = await startPostgres("fsync=off", "full_page_writes=off");
  return { database: server.url, schemas: () => schemasAt(server.url), stop: () => server.stop() };
}

async function schemasAt(url: string): Promise<readonly string[]> {
  const { Client } = await loadPg();
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const text = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'pawl\\_explorer\\_%'";
    const { rows } = await client.query({ text });
    return rows.map(({ nspname }) => String(nspname));
  } finally {
    await client.end();
  }
}
