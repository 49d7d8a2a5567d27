// A world on each database, for the tests of a file; the built dashboard is shared.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe } from "vitest";
import { type PostgresServer, startPostgres } from "../../store/postgres/postgres-server.ts";
import { builtDashboard } from "../built-dashboard.ts";
import { KillWorld } from "./kill-world.ts";

export type Database = "SQLite" | "PostgreSQL";

/** Describes the same tests for each database. `world` gives the world of the test that runs. */
export function onDatabases(
  databases: readonly Database[],
  tests: (world: () => KillWorld, database: Database) => void,
): void {
  const folder = mkdtempSync(join(tmpdir(), "pawl-kills-"));
  let files = "";
  beforeAll(async () => {
    files = await builtDashboard();
  }, 120_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  describe.each(databases)("on %s,", (database) => {
    let postgres: PostgresServer | null = null;
    let world: KillWorld | null = null;
    beforeAll(async () => {
      if (database === "PostgreSQL") postgres = await startPostgres();
      const address =
        postgres === null
          ? `file:${join(folder, "pawl.db")}`
          : `${postgres.url}?schema=${postgres.newSchema()}`;
      world = await KillWorld.start(address, files);
    }, 120_000);
    afterAll(async () => {
      await world?.close();
      await postgres?.stop();
    }, 60_000);
    tests(() => {
      if (world === null) throw new Error("The world was not started.");
      return world;
    }, database);
  });
}
