import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openStore } from "../../../src/store/open-store.ts";
import { storeConformance } from "../../../src/testing/store/index.ts";
import { IS_FULL_TEST } from "../../full-test.ts";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";

let server: PostgresServer;
let schema: string;
beforeAll(async () => {
  server = await startPostgres();
  schema = server.newSchema();
  // Created once: the checks share it, and empty it.
  await (await openStore(server.url, { schema })).close();
}, 120_000);
afterAll(async () => {
  await server.sql(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
  await server.stop();
}, 60_000);

async function emptyTables(): Promise<void> {
  const [row] = await server.sql(
    "SELECT string_agg(format('%I.%I', schemaname, tablename), ', ') AS tables FROM pg_tables WHERE schemaname = $1 AND tablename <> 'migrations'",
    [schema],
  );
  await server.sql(`TRUNCATE ${String(row?.tables)}`);
}

describe("the PostgreSQL store conforms to the contract", () => {
  const checks = storeConformance((clocks) =>
    Promise.resolve({
      open: () => openStore(server.url, { ...clocks, schema, redactionKey: "ab".repeat(32) }),
      dispose: emptyTables,
    }),
  );

  it("has checks", () => {
    expect(checks.length).toBeGreaterThan(500);
  });

  // Each check takes a quarter of a second here: all of them are in the full test.
  const sample = checks.filter(
    ({ stores }, i) => IS_FULL_TEST || i % 16 === 5 || (stores === "several" && i % 4 === 0),
  );
  for (const check of sample) it(check.name, { timeout: 60_000 }, () => check.run());
});
