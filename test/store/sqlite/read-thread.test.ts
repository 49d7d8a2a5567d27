// Reads of a large database, which a thread does.

import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { openStore, type Store } from "../../../src/index.ts";
import { newSpec } from "../../../src/testing/store/sample-contract.ts";
import { SampleRun } from "../../../src/testing/store/sample-run.ts";
import { databaseFile, fileStore } from "../../engine/run-fixture.ts";

const LARGE = "x".repeat(9 * 1024 * 1024);

/** A run with two turns, in a database that is large or small. */
async function withRun(objective: string) {
  const file = databaseFile();
  const store = await fileStore(file);
  const run = await SampleRun.create(store, "run-1", { spec: { ...newSpec(), objective } });
  await run.committedWithCall(1);
  await run.committedWithCall(2);
  return { file, store };
}

/** How often the event loop turned until the work was done: never, if all of it was synchronous. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isDone = false;
  const turn = () => {
    turns += 1;
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  await work;
  isDone = true;
  return turns;
}

const READS: readonly (readonly [name: string, read: (store: Store) => Promise<unknown>])[] = [
  ["verify", (store) => store.verify("run-1")],
  ["checkIntegrity", (store) => store.checkIntegrity()],
  ["verifyAudit", (store) => store.verifyAudit()],
  ["readSpend", (store) => store.readSpend({ since: 0, until: 4e12, bucketMs: 1e12, by: "pipeline" })],
  ["listCostlyRuns", (store) => store.listCostlyRuns({ since: 0, limit: 5 })],
  ["listRunsNearBudget", (store) => store.listRunsNearBudget({ limit: 5 })],
  ["a look for a text", (store) => store.listRunSummaries({ text: "nowhere" })],
];

test.each(READS)("%s of a large database leaves the event loop free, and reads the same", async (_, read) => {
  const [large, small] = [await withRun(LARGE), await withRun("x")];
  expect(await turnsDuring(read(large.store))).toBeGreaterThan(0);
  expect(await turnsDuring(read(small.store))).toBe(0);
  const shape = async (store: Store) =>
    JSON.stringify(await read(store)).replaceAll(/\d{13}|x{300}…|x(?=")|vm\/[^"]*/g, "");
  expect(await shape(large.store)).toBe(await shape(small.store));
});

test("the usage of a long run is added up on a thread, and that of a short one at once", async () => {
  const { file, store } = await withRun(LARGE);
  const usage = await store.readUsage("run-1");
  expect(usage.modelCalls).toBe(2);
  expect(await turnsDuring(store.readUsage("run-1"))).toBe(0);
  const other = new DatabaseSync(file);
  other.exec("UPDATE runs SET event_seq = 100000");
  other.close();
  expect(await turnsDuring(store.readUsage("run-1"))).toBeGreaterThan(0);
  expect(await store.readUsage("run-1")).toEqual(usage);
});

test("what was committed a moment ago is read, and damage is found", async () => {
  const { file, store } = await withRun(LARGE);
  await SampleRun.create(store, "run-2");
  expect((await store.verify("run-2")).problems).toEqual([]);
  const other = new DatabaseSync(file);
  other.exec("PRAGMA foreign_keys = OFF; UPDATE turns SET response = '{}' WHERE turn_index = 2");
  other.exec("INSERT INTO run_labels (run_key, name, value, created_at) VALUES (99, 'a', 'b', 0)");
  other.close();
  expect((await store.verify("run-1")).problems).toHaveLength(1);
  expect(await store.checkIntegrity()).toEqual([
    "A row of run_labels refers to one of runs that is not there.",
  ]);
  await expect(store.verify("none")).rejects.toMatchObject({ code: "run_not_found" });
});

test("runs are worked on while a thread reads, and each read sees one state", async () => {
  const { store } = await withRun(LARGE);
  const reads = Array.from({ length: 4 }, () => store.verify("run-1"));
  for (let i = 2; i < 22; i++) await SampleRun.create(store, `run-${i}`);
  for (const { problems } of await Promise.all(reads)) expect(problems).toEqual([]);
});

test("a store that is closed meanwhile waits for the thread, and its log is written back", async () => {
  const { file, store } = await withRun(LARGE);
  const reading = store.verify("run-1").then(
    () => "read",
    (error: { readonly code: string }) => error.code,
  );
  await new Promise((resolve) => setImmediate(resolve));
  await store.close();
  expect(["read", "store_unavailable"]).toContain(await reading);
  expect(statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0).toBe(0);
});

test("a database that is only read has no thread, and can be opened for writing beside it", async () => {
  const { file, store } = await withRun(LARGE);
  await store.close();
  const reader = await openStore(`file:${file}`, { readOnly: true });
  onTestFinished(() => reader.close());
  expect((await reader.verify("run-1")).problems).toEqual([]);
  const writer = await fileStore(file);
  await SampleRun.create(writer, "run-2");
  expect((await reader.verify("run-2")).problems).toEqual([]);
});
