import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openStore } from "../../../src/store/open-store.ts";
import { storeConformance } from "../../../src/testing/store/index.ts";
import { claimOptions, SampleRun } from "../../../src/testing/store/sample-run.ts";
import { openOnThread } from "../../../src/testing/store/store-thread.ts";
import { IS_FULL_TEST, sampled } from "../../full-test.ts";
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

const ON_THREAD = new URL("../open-on-thread.ts", import.meta.url).href;

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
      thread: {
        module: ON_THREAD,
        data: { url: server.url, options: { schema } },
        clock: "server",
      },
      dispose: emptyTables,
    }),
  );

  it("has checks", () => {
    expect(checks.length).toBeGreaterThan(500);
  });

  // Each check takes a quarter of a second here: all of them are in the full test.
  const sample = checks.filter(
    ({ stores }, i) =>
      stores !== "threads" && (IS_FULL_TEST || i % 16 === 5 || (stores === "several" && i % 4 === 0)),
  );
  const threaded = checks.filter(({ stores }) => stores === "threads");
  for (const check of [...sample, ...sampled(threaded, 4)])
    it(check.name, { timeout: 60_000 }, () => check.run());
});

describe("a process whose clock is an hour fast", () => {
  it("sees the lease of an owner that it cannot look at, by the server's clock", async () => {
    const store = await openStore(server.url, { schema });
    await SampleRun.create(store);
    await server.sql(`UPDATE ${schema}.runs SET owner = 'another machine'`);
    const late = await openOnThread(
      { module: ON_THREAD, data: { url: server.url, options: { schema } }, clock: "server" },
      3_600_000,
    );
    expect(await late.store.isHeld("run-1")).toBe(true);
    expect((await late.store.claimRun("run-1", claimOptions())).kind).toBe("busy");
    await late.end();
    await store.close();
    await emptyTables();
  });
});
