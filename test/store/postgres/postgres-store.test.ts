import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openStore } from "../../../src/store/open-store.ts";
import { loadPg } from "../../../src/store/postgres-wire/pg-driver.ts";
import { STORE_INTENTS } from "../../../src/store/store.ts";
import { type OpenConformanceDatabase, storeConformance } from "../../../src/testing/store/index.ts";
import { claimOptions, SampleRun } from "../../../src/testing/store/sample-run.ts";
import { openOnThread } from "../../../src/testing/store/store-thread.ts";
import { IS_FULL_TEST, sampled } from "../../full-test.ts";
import { captureStatements } from "../sql/captured-statements.ts";
import { COUNTS_AGAIN, INTENT_CASES, WITHOUT_COMMIT } from "./intent-cases.ts";
import { LostIntents } from "./lost-intents.ts";
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

/**
 * SQLite numbers runs and events; PostgreSQL makes a key of the id, and has the numbers of transactions. And a file is checked
 * by SQLite itself.
 */
const OWN_TO_SQLITE = /^SELECT max\(run_key\) AS n FROM runs$|\browid\b|^PRAGMA |\bpragma_/;

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
      stores !== "threads" && (IS_FULL_TEST || i % 32 === 5 || (stores === "several" && i % 8 === 0)),
  );
  const threaded = checks.filter(({ stores }) => stores === "threads");
  for (const check of [...sample, ...sampled(threaded, 4)])
    it(check.name, { timeout: 60_000 }, () => check.run());
});

describe("every query of the store", () => {
  const inMemory: OpenConformanceDatabase = (clocks) =>
    Promise.resolve({ open: () => openStore(":memory:", clocks), dispose: () => Promise.resolve() });
  const checks = storeConformance(inMemory).filter(({ stores }) => stores === "one");

  it("that SQLite runs can be prepared on PostgreSQL", { timeout: 300_000 }, async () => {
    const captured = captureStatements();
    for (const check of IS_FULL_TEST ? checks : sampled(checks, 8)) await check.run();
    const queries = captured.queries.filter(({ text }) => !OWN_TO_SQLITE.test(text));
    expect(queries.length).toBeGreaterThan(100);
    const { Client } = await loadPg();
    const client = new Client({ connectionString: server.url });
    await client.connect();
    await client.query({ text: `SET search_path TO ${schema}` });
    const refused: string[] = [];
    for (const [n, { text }] of queries.entries()) {
      let values = 0;
      const prepared = `PREPARE statement_${n} AS ${text.replaceAll("?", () => `$${++values}`)}`;
      await client
        .query({ text: prepared })
        .catch((error: unknown) => refused.push(`${String(error)}: ${text}`));
    }
    await client.end();
    expect(refused).toEqual([]);
  });
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

describe("an intent whose COMMIT is cut off is done exactly once:", () => {
  let lost: LostIntents | null = null;
  beforeAll(async () => {
    if (server.port !== null) lost = await LostIntents.start(server.url, server.port, schema);
  });
  afterAll(() => lost?.stop());

  it("the list has every intent of the contract", () => {
    expect(Object.keys(INTENT_CASES).sort()).toEqual([...STORE_INTENTS].sort());
  });

  const cuts = STORE_INTENTS.flatMap((intent) =>
    (["before", "after"] as const).map((cut) => [intent, cut] as const),
  );
  it.for(sampled(cuts, 9))("%s, %s its arrival", { timeout: 60_000 }, async ([intent, cut], context) => {
    if (lost === null) return context.skip("The server of TEST_POSTGRES_URL is not cut off.");
    const expected = await lost.perform(intent, null);
    const outcome = await lost.perform(intent, cut);
    expect(outcome.cuts).toBe(intent in WITHOUT_COMMIT ? 0 : 1);
    expect(outcome.stored).toEqual(expected.stored);
    if (!COUNTS_AGAIN.includes(intent)) expect(outcome.answer).toEqual(expected.answer);
  });
});
