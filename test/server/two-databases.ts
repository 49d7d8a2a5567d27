// Stores on both databases, for tests of the server.

import { afterAll, beforeAll, onTestFinished } from "vitest";
import { openStore, type Store } from "../../src/index.ts";
import { databaseFile, fileStore } from "../engine/run-fixture.ts";
import { type PostgresServer, startPostgres } from "../store/postgres/postgres-server.ts";

/** Opens a database that no other test uses; each call of the result is a handle on it, as of another process. */
export type NewDatabase = () => () => Promise<Store>;

/** Both databases, for `describe.each`. PostgreSQL runs until the tests of the file have ended. */
export function twoDatabases(): readonly (readonly [name: string, open: NewDatabase])[] {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  }, 120_000);
  afterAll(() => server.stop(), 60_000);
  return [
    [
      "SQLite",
      () => {
        const file = databaseFile();
        return () => fileStore(file);
      },
    ],
    [
      "PostgreSQL",
      () => {
        const address = `${server.url}?schema=${server.newSchema()}`;
        return async () => {
          const store = await openStore(address);
          onTestFinished(() => store.close({ graceMs: 0 }));
          return store;
        };
      },
    ],
  ];
}
