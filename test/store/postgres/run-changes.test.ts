// Transactions commit in another order than they begin: the feed of changes must miss none of them.

import { afterAll, beforeAll, expect, it } from "vitest";
import { openStore } from "../../../src/store/open-store.ts";
import { loadPg } from "../../../src/store/postgres-wire/pg-driver.ts";
import type { RunChangeCursor, Store } from "../../../src/store/store.ts";
import { SampleRun, SUCCEEDED } from "../../../src/testing/store/sample-run.ts";
import { newWebhook } from "../../../src/testing/store/server/webhooks.ts";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 120_000);
afterAll(() => server.stop(), 60_000);

const EVENT = `INSERT INTO events (run_key, seq, created_at, type, data, hash, of_run)
  SELECT run_key, 900, created_at, 'run.cancelled', '{}', decode(repeat('cd', 32), 'hex'), 0 FROM runs WHERE run_id = `;

/** A session in which a transaction stays open. */
async function openTransaction(schema: string, runId: string) {
  const { Client } = await loadPg();
  const client = new Client({ connectionString: server.url });
  await client.connect();
  await client.query({ text: `SET search_path TO ${schema}` });
  await client.query({ text: "BEGIN" });
  await client.query({ text: `${EVENT}'${runId}'` });
  return {
    end: async (how: "COMMIT" | "ROLLBACK") => {
      await client.query({ text: how });
      await client.end();
    },
  };
}

/** The ids of the runs that have changed since the last call. */
function poller(store: Store): () => Promise<readonly string[] | "reset"> {
  let after: RunChangeCursor | null = null;
  return async () => {
    const { runs, cursor, isReset } = await store.listChangedRuns({ after, limit: 1_000 });
    after = cursor;
    return isReset ? "reset" : runs.map(({ runId }) => runId);
  };
}

it("a transaction that commits after later ones is in the feed, and is there once", async () => {
  const schema = server.newSchema();
  const store = await openStore(server.url, { schema });
  for (const runId of ["slow", "lost", "quick"]) await SampleRun.create(store, runId);
  const quick = await SampleRun.create(store, "quickest");
  const poll = poller(store);
  expect(await poll()).toBe("reset");
  const slow = await openTransaction(schema, "slow");
  const lost = await openTransaction(schema, "lost");
  await quick.open(1);
  expect(await poll(), "while they are open").toEqual(["quickest"]);
  expect(await poll(), "nothing is repeated meanwhile").toEqual([]);
  await slow.end("COMMIT");
  expect(await poll()).toEqual(["slow"]);
  await lost.end("ROLLBACK");
  await quick.store.settleModelCall(quick.fence, {
    stepKey: quick.stepKey,
    turnIndex: 1,
    attempt: 1,
    charge: quick.journal(1).charge,
  });
  expect(await poll()).toEqual(["quickest"]);
  expect(await poll()).toEqual([]);
  await store.close();
});

it("what many processes write at once is all in the feed", { timeout: 60_000 }, async () => {
  const schema = server.newSchema();
  const stores = await Promise.all([1, 2, 3, 4].map(() => openStore(server.url, { schema })));
  const [reader] = stores;
  if (reader === undefined) throw new Error("There is a store.");
  const seen = new Map<string, number>();
  let after: RunChangeCursor | null = (await reader.listChangedRuns({ after: null, limit: 1 })).cursor;
  const read = async () => {
    const changes = await reader.listChangedRuns({ after, limit: 1_000 });
    expect(changes.isReset).toBe(false);
    after = changes.cursor;
    for (const { runId, eventSeq } of changes.runs) seen.set(runId, Math.max(eventSeq, seen.get(runId) ?? 0));
    return changes.runs.length;
  };
  let isWriting = true;
  let reads = 0;
  const reading = (async () => {
    while (isWriting) reads += Math.min(1, await read());
  })();
  const write = async (store: Store, i: number) => {
    const run = await SampleRun.create(store, `run-${i}`);
    for (let turn = 1; turn <= 5; turn++) await run.committed(turn);
  };
  await Promise.all(stores.flatMap((store, s) => [0, 1, 2, 3, 4].map((n) => write(store, s * 5 + n))));
  isWriting = false;
  await reading;
  await read();
  expect(reads).toBeGreaterThan(3);
  const runs = await reader.listRunSummaries();
  expect(runs).toHaveLength(20);
  expect(seen).toEqual(new Map(runs.map(({ runId, eventSeq }) => [runId, eventSeq])));
  await Promise.all(stores.map((store) => store.close()));
});

it("a server that has lost commits begins the feed again", async () => {
  const schema = server.newSchema();
  const store = await openStore(server.url, { schema });
  const run = await SampleRun.create(store);
  const poll = poller(store);
  await poll();
  expect(await poll()).toEqual([]);
  // As after a failover to a replica that has not got them.
  await server.sql(`DELETE FROM ${schema}.events WHERE seq = (SELECT max(seq) FROM ${schema}.events)`);
  await server.sql(`UPDATE ${schema}.events SET transaction_no = transaction_no - 1`);
  expect(await poll()).toBe("reset");
  expect(run.runId).toBe("run-1");
  await store.close();
});

it("events from before the feed, and numbers that are still to come, are in no answer", async () => {
  const schema = server.newSchema();
  const store = await openStore(server.url, { schema });
  const old = await SampleRun.create(store, "old");
  await server.sql(`UPDATE ${schema}.events SET transaction_no = NULL WHERE seq = 1`);
  await server.sql(`UPDATE ${schema}.events SET transaction_no = 900000000 WHERE seq = 2`);
  const poll = poller(store);
  expect(await poll()).toBe("reset");
  await SampleRun.create(store, "new");
  expect(await poll()).toEqual(["new"]);
  expect(await poll()).toEqual([]);
  await old.open(1);
  expect(await poll()).toEqual(["old"]);
  await store.close();
});

/** The ids of what is recorded for webhook w-1, once there is nothing left to record. */
async function recordedFor(store: Store): Promise<readonly string[]> {
  while (await store.hasWebhookNews()) await store.recordDeliveries();
  return (await store.listDeliveries("w-1")).map(({ deliveryId }) => deliveryId).sort();
}

it("a webhook gets an event whose transaction commits after later ones were read", async () => {
  const schema = server.newSchema();
  const store = await openStore(server.url, { schema });
  await store.addWebhook(newWebhook("w-1"));
  for (const runId of ["slow", "lost"]) await SampleRun.create(store, runId);
  const slow = await openTransaction(schema, "slow");
  const lost = await openTransaction(schema, "lost");
  const quick = await SampleRun.create(store, "quick");
  await store.releaseRun(quick.fence, SUCCEEDED);
  const { seq } = await quick.lastEvent();
  expect(await recordedFor(store), "while they are open").toEqual([`quick:${seq}`]);
  await slow.end("COMMIT");
  await lost.end("ROLLBACK");
  expect(await recordedFor(store)).toEqual([`quick:${seq}`, "slow:900"]);
  await store.close();
});

it("a log of many transactions, and one of many events, is read to its end", async () => {
  const schema = server.newSchema();
  const store = await openStore(server.url, { schema });
  await store.addWebhook(newWebhook("w-1"));
  await SampleRun.create(store, "run-1");
  /** One transaction, whose last event asks for a delivery. */
  const write = (first: number, last: number) =>
    server.sql(`INSERT INTO ${schema}.events (run_key, seq, created_at, type, data, hash, of_run)
      SELECT run_key, n, created_at, CASE n WHEN ${last} THEN 'run.cancelled' ELSE 'test' END, '{}', decode(repeat('ab', 32), 'hex'), 0
        FROM ${schema}.runs, generate_series(${first}, ${last}) AS n`);
  await write(1_001, 2_200);
  for (let i = 0; i < 20; i += 1) await write(3_000 + 30 * i, 3_029 + 30 * i);
  expect(await recordedFor(store)).toHaveLength(21);
  await store.close();
});
