// Intents of different runs that ask the server share a transaction, and each has its own outcome.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openStore } from "../../../src/store/open-store.ts";
import { runKeyOf } from "../../../src/store/postgres/plan-context.ts";
import { PostgresStore } from "../../../src/store/postgres/postgres-store.ts";
import { exists } from "../../../src/store/sql/script.ts";
import type { Transaction } from "../../../src/store/sql/transaction.ts";
import {
  claimOptions,
  newReceipt,
  newRun,
  newStep,
  SampleRun,
} from "../../../src/testing/store/sample-run.ts";
import { CuttingProxy } from "./cutting-proxy.ts";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 120_000);
afterAll(() => server.stop(), 60_000);

const ids = (count: number) => Array.from({ length: count }, (_, i) => `run-${i}`);

/** The intents of each commit. */
async function observed(schema = server.newSchema(), url = server.url) {
  const commits: (readonly string[])[] = [];
  const store = await PostgresStore.open(url, { schema, onCommit: (intents) => commits.push(intents) });
  return { store, commits, schema };
}

/** Runs scripts as intents of these runs, in one tick. */
function together(
  store: PostgresStore,
  script: (tx: Transaction, runId: string) => Generator,
  runIds: string[],
) {
  return Promise.allSettled(
    runIds.map((runId) => store["driver"].write("test", runId, (tx) => script(tx, runId) as never)),
  );
}

describe("intents that ask the server", () => {
  it("share one transaction and its round trips, if they are of different runs", async (context) => {
    if (server.port === null) return context.skip("The server of TEST_POSTGRES_URL has no proxy.");
    const proxy = await CuttingProxy.start(server.port);
    const url = server.url.replace(`:${server.port}/`, `:${proxy.port}/`);
    const { store, commits } = await observed(server.newSchema(), url);
    const roundTripsFor = async (runIds: readonly string[]) => {
      proxy.roundTrips = 0;
      await Promise.all(runIds.map((runId) => store.createRun(newRun(runId))));
      return proxy.roundTrips;
    };
    await roundTripsFor(["first"]);
    const alone = await roundTripsFor(["second"]);
    commits.length = 0;
    expect(await roundTripsFor(ids(50))).toBe(alone);
    expect(commits.map((intents) => intents.length)).toEqual([50]);
    expect(await store.listRuns({ limit: 100 })).toHaveLength(52);
    await store.close();
    await proxy.stop();
  });

  it("are refused each by itself", async () => {
    const { store, schema, commits } = await observed();
    const other = await openStore(server.url, { schema });
    const held = await SampleRun.create(other, "held");
    commits.length = 0;
    const outcomes = await Promise.allSettled([
      store.beginStep(held.fence, newStep("other")),
      store.claimRun("missing", claimOptions()),
      store.createRun(newRun("new")),
    ]);
    expect(outcomes).toMatchObject([
      { status: "rejected", reason: { name: "LeaseLostError" } },
      { status: "fulfilled", value: { kind: "not_found" } },
      { status: "fulfilled", value: { kind: "created" } },
    ]);
    expect(commits.flat().sort()).toEqual(["claimRun", "createRun"]);
    await store.close();
    await other.close();
  });

  it("run again one by one, if one is refused after the server got a write of it", async () => {
    const { store, schema } = await observed();
    for (const runId of ids(3)) await store.createRun(newRun(runId));
    let tries = 0;
    const outcomes = await together(
      store,
      function* (tx, runId) {
        tries += 1;
        const row = { blob_hash: Buffer.alloc(32, 1), created_at: 0, size: 1, bytes: Buffer.from(runId) };
        tx.write({ kind: "insert", table: "blobs", row: { run_key: runKeyOf(runId), ...row } });
        const isWritten = yield* exists("SELECT 1 FROM blobs WHERE run_key = ?", runKeyOf(runId));
        if (runId === "run-1") throw new Error(`Refused after a write: ${isWritten}.`);
        return isWritten;
      },
      ids(3),
    );
    expect(outcomes).toMatchObject([
      { status: "fulfilled", value: true },
      { status: "rejected", reason: { message: "Refused after a write: true." } },
      { status: "fulfilled", value: true },
    ]);
    expect(tries).toBe(6);
    const rows = await server.sql(
      `SELECT convert_from(bytes, 'UTF8') AS id FROM ${schema}.blobs ORDER BY id`,
    );
    expect(rows).toEqual([{ id: "run-0" }, { id: "run-2" }]);
    await store.close();
  });

  it("are answered a few in a tick, so that timers are not kept waiting", async () => {
    const { store, commits } = await observed();
    const answered: number[] = [];
    let ticks = 0;
    const tick = () => {
      ticks += 1;
      if (answered.length < 40) setImmediate(tick);
    };
    tick();
    await Promise.all(
      ids(40).map((runId) => store.createRun(newRun(runId)).then(() => answered.push(ticks))),
    );
    expect(commits.map((intents) => intents.length)).toEqual([40]);
    const inTick = [...new Set(answered)].map((each) => answered.filter((other) => other === each).length);
    expect(inTick).toEqual([16, 16, 8]);
    await store.close();
  });

  it("are done once, and answered, if the observer of commits throws", async () => {
    let isBroken = false;
    const store = await PostgresStore.open(server.url, {
      schema: server.newSchema(),
      onCommit: () => {
        if (isBroken) throw new Error("Observer.");
      },
    });
    isBroken = true;
    const outcomes = await Promise.all(ids(20).map((runId) => store.createRun(newRun(runId))));
    expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(["created"]));
    isBroken = false;
    for (const runId of ids(20)) expect(await store.listEvents(runId)).toHaveLength(1);
    await store.close();
  });

  it("of one run keep their order", async () => {
    const { store } = await observed();
    const seen: string[] = [];
    await store.createRun(newRun("run-0"));
    await Promise.all(
      ["a", "b", "c"].map((name) =>
        store["driver"].write("test", "run-0", function* () {
          yield* exists("SELECT 1 FROM runs");
          seen.push(name);
          return name;
        }),
      ),
    );
    expect(seen).toEqual(["a", "b", "c"]);
    await store.close();
  });
});

describe("a program that is older than the tables", () => {
  it("stops writing at once, also what it needs to ask nothing for", async () => {
    const { store, schema } = await observed();
    const run = await SampleRun.create(store);
    await run.open(1);
    await store.journalResponse(run.fence, run.journal(1, ["running"]));
    await server.sql(`INSERT INTO ${schema}.migrations VALUES (999, 'later', 0)`);
    await expect(
      store.commitTurn(run.fence, run.commit(1, { receipts: [newReceipt(1)], next: run.opening(2) })),
    ).rejects.toMatchObject({ details: { reason: "newer_schema" } });
    await server.sql(`DELETE FROM ${schema}.migrations WHERE number = 999`);
    await store.commitTurn(run.fence, run.commit(1, { receipts: [newReceipt(1)], next: run.opening(2) }));
    await store.close();
  });
});
