// A request that is sent again: the same run if it asks for the same, and never a second one.

import { expect, test } from "vitest";
import type { Store } from "../../../src/index.ts";
import { failureOf, memoryStore } from "../../engine/run-fixture.ts";
import { twoDatabases } from "../two-databases.ts";
import { ACME_OPERATOR } from "./sample-world.ts";
import { OTHER, principal, serverWorld } from "./server-world.ts";

const LATER = new Date(Date.now() + 3_600_000).toISOString();
const BEFORE = new Date(Date.now() - 3_600_000).toISOString();

const EVERYTHING_ASKED = {
  pipeline: "clerk",
  input: "Refund 7",
  spec: { objective: "Refund order 7", budgets: { maxSteps: 5 } },
  queue: "fast",
  concurrencyKey: "customer-3",
  priority: 5,
  metadata: { customer: "3", tags: ["a", "b"] },
  context: { customer: 3 },
  notBefore: LATER,
};

function keyed(store: Store, as = principal()) {
  const world = serverWorld(store);
  const start = (body: object, key = "order-7") =>
    world.call("startRun", { headers: { "idempotency-key": key }, body, as });
  return { ...world, start };
}

const PLAIN = { pipeline: "clerk", input: "Refund 7" };

test.each(twoDatabases())(
  "on %s a key is one run, whatever pipeline is asked for",
  async (_, newDatabase) => {
    const store = await newDatabase()();
    const { start } = keyed(store);
    const answers = await Promise.allSettled([start(PLAIN), start({ ...PLAIN, pipeline: "talk" })]);
    expect(answers.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const [won] = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
    const [lost] = answers.flatMap((answer) => (answer.status === "rejected" ? [answer.reason] : []));
    expect(lost).toMatchObject({ status: 409, code: "run_exists", details: { differing: ["pipeline"] } });
    expect((await store.listRunSummaries({})).map(({ runId }) => runId)).toEqual([won?.body.runId]);
  },
);

test.each(twoDatabases())(
  "on %s a request that is sent many times at once is one run",
  async (_, newDatabase) => {
    const { start } = keyed(await newDatabase()());
    const answers = await Promise.all(Array.from({ length: 10 }, () => start(EVERYTHING_ASKED)));
    const made = answers.filter(({ status }) => status === 201);
    expect([made.length, answers.filter(({ status }) => status === 200).length]).toEqual([1, 9]);
    expect(new Set(answers.map(({ body }) => body.runId)).size).toBe(1);
  },
);

test.each([
  ["pipeline", { pipeline: "talk" }],
  ["input", { input: "Refund 8" }],
  ["spec", { spec: { objective: "Refund order 8" } }],
  ["spec", { spec: undefined }],
  ["queue", { queue: "slow" }],
  ["queue", { queue: undefined }],
  ["concurrencyKey", { concurrencyKey: "customer-4" }],
  ["priority", { priority: undefined }],
  ["metadata", { metadata: { customer: "4" } }],
  ["context", { context: undefined }],
  ["notBefore", { notBefore: undefined }],
  ["notBefore", { notBefore: BEFORE }],
] as const)("another %s under the same key is refused by its name: %j", async (name, other) => {
  const { start, call } = keyed(await memoryStore());
  const first = await start(EVERYTHING_ASKED);
  expect((await start(EVERYTHING_ASKED)).body).toEqual({ runId: first.body.runId, existed: true });
  const refusal = { status: 409, code: "run_exists", details: { differing: [name] } };
  const refused = await failureOf(start({ ...EVERYTHING_ASKED, ...other }));
  expect(refused).toMatchObject(refusal);
  expect((refused as Error).message).toContain(`started with another ${name}:`);
  const put = (body: object) => call("putRun", { params: { runId: "own-id" }, body });
  await put(EVERYTHING_ASKED);
  expect(await put(EVERYTHING_ASKED)).toMatchObject({ status: 200 });
  expect(await failureOf(put({ ...EVERYTHING_ASKED, ...other }))).toMatchObject(refusal);
});

test("what a plain request leaves out may not be asked for later", async () => {
  const { start } = keyed(await memoryStore());
  await start(PLAIN);
  const { pipeline: _, input: __, ...more } = EVERYTHING_ASKED;
  for (const [name, value] of Object.entries(more))
    expect(await failureOf(start({ ...PLAIN, [name]: value }))).toMatchObject({
      details: { differing: [name] },
    });
  for (const same of [{ priority: 0 }, { queue: "default" }, { context: null }, { notBefore: BEFORE }])
    expect(await start({ ...PLAIN, ...same })).toMatchObject({ status: 200 });
});

test("a request is the same after a worker has taken its run, and after the run has ended", async () => {
  const { start, store } = keyed(await memoryStore());
  const asked = { ...EVERYTHING_ASKED, notBefore: new Date(Date.now() + 30).toISOString() };
  const { runId } = (await start(asked)).body;
  await new Promise((resolve) => setTimeout(resolve, 40));
  await store.claimRun(runId, { leaseMs: 30_000, from: ["queued"] });
  expect(await start(asked)).toMatchObject({ status: 200, body: { runId } });
  await store.requestCancel(runId);
  expect(await start(asked)).toMatchObject({ status: 200, body: { runId } });
});

test("a key that the library or an earlier server has made a run of is that run, with its rule", async () => {
  const { start, runner, talk } = keyed(await memoryStore());
  const { runId } = await runner.enqueue("Refund 7", { key: "order-7" });
  expect(await start(PLAIN)).toMatchObject({ status: 200, body: { runId, existed: true } });
  expect(await runner.enqueue("Refund 7", { key: "order-7" })).toEqual({ runId, existed: true });
  const other = await talk.enqueue("Refund 7", { key: "order-7" });
  expect(other.existed).toBe(false);
  const free = await start(PLAIN, "order-8");
  expect(await runner.enqueue("Refund 7", { key: "order-8" })).not.toMatchObject(free.body);
});

test("a key of another scope is another run, and a run of another tenant is not described", async () => {
  const store = await memoryStore();
  const acme = keyed(store, ACME_OPERATOR);
  const other = keyed(store, principal({ scope: OTHER }));
  const [first, second] = [await acme.start(PLAIN), await other.start({ ...PLAIN, input: "Refund 8" })];
  expect(second).toMatchObject({ status: 201 });
  expect(first.body.runId).not.toBe(second.body.runId);
  const put = { params: { runId: "own-id" }, body: PLAIN };
  await other.call("putRun", { ...put, as: principal({ scope: OTHER }) });
  for (const body of [PLAIN, { ...PLAIN, priority: 3 }])
    expect(await failureOf(acme.call("putRun", { ...put, body, as: ACME_OPERATOR }))).toMatchObject({
      code: "run_exists",
      details: {},
      message: "The run id own-id is another run's: use another one.",
    });
});
