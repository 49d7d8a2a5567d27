import assert from "node:assert/strict";
import { ConfigurationError } from "../../../core/errors.ts";
import type { QueuedRun, Store } from "../../../store/store.ts";
import { type Check, check, checkSeveral, rejection } from "../check.ts";
import { newSpec } from "../sample-contract.ts";
import { claimOptions, LEASE_MS, newRun, newStep, SampleRun, SUCCEEDED } from "../sample-run.ts";

export function queuedRun(runId: string, over: Partial<QueuedRun> = {}): QueuedRun {
  const { leaseMs: _, ...run } = newRun(runId);
  return { ...run, ...over };
}

/** The ids of the ready runs of the sample pipeline, in order. */
async function readyIds(store: Store, ...queues: readonly string[]): Promise<string[]> {
  const named = queues.length === 0 ? ["default"] : queues;
  const ready = await store.listReady({ pipelines: ["report"], queues: named, limit: 100 });
  return ready.map(({ runId }) => runId);
}

const EVERYWHERE = { queue: "mail", concurrencyKey: "ann", priority: 3 } as const;
const WORKER = { from: ["queued", "running"] } as const;

async function claimed(store: Store, runId: string, over: Parameters<typeof claimOptions>[0] = {}) {
  return (await store.claimRun(runId, claimOptions({ ...WORKER, ...over }))).kind;
}

export const queueChecks: readonly Check[] = [
  check("a run that is enqueued is stored as given, and nobody holds it", async ({ store, now }) => {
    const metadata = { tenant: "acme", tags: ["new", "größe 🙂"] };
    const run = queuedRun("run-1", {
      ...EVERYWHERE,
      metadata,
      callContext: { customer: 7 },
      startedBy: { by: "Ann" },
    });
    const { kind, run: record } = await store.enqueueRun(run);
    assert.equal(kind, "created");
    assert.deepEqual(await store.getRun("run-1"), record);
    assert.deepEqual(
      [record.status, record.owner, record.epoch, record.readyAt, record.wakeAt, record.stalls],
      ["queued", null, 0, now(), null, 0],
    );
    const { queue, concurrencyKey, priority } = record;
    assert.deepEqual([{ queue, concurrencyKey, priority }, record.metadata], [EVERYWHERE, metadata]);
    assert.equal(record.startedBy?.name, "Ann");
    assert.deepEqual((await store.readRunInput("run-1")).callContext, { customer: 7 });
    assert.deepEqual(await store.listAttempts("run-1"), [], "nobody has tried it");
    assert.equal(await store.isHeld("run-1"), false);
  }),

  check("the same id again is the same run", async ({ store, advance }) => {
    const first = await store.enqueueRun(queuedRun("run-1"));
    advance(5);
    const again = await store.enqueueRun(queuedRun("run-1", { input: "other", queue: "mail" }));
    assert.deepEqual(again, { kind: "exists", run: first.run });
    assert.equal((await store.createRun(newRun("run-1"))).kind, "exists");
  }),

  check("a run is claimed once, as if it had been created then", async ({ store, now, advance }) => {
    await store.enqueueRun(queuedRun("run-1"));
    advance(7);
    const outcome = await store.claimRun("run-1", claimOptions({ ...WORKER, workerVersion: "v2" }));
    assert.ok(outcome.kind === "claimed");
    const { run, epoch } = outcome.claim;
    assert.deepEqual([run.status, epoch, run.readyAt, run.workerVersion], ["running", 1, null, "v2"]);
    assert.equal(await claimed(store, "run-1"), "busy");
    const step = await store.beginStep({ runId: "run-1", epoch }, newStep("draft"));
    const worker = new SampleRun(store, { runId: "run-1", epoch }, step);
    await worker.committed(1);
    await store.releaseRun(worker.fence, SUCCEEDED);
    const [attempt] = await store.listAttempts("run-1");
    assert.deepEqual([attempt?.epoch, attempt?.startedAt], [1, now()]);
    assert.equal(await claimed(store, "run-1"), "refused");
  }),

  check(
    "ready runs are listed by priority, then by how long they have waited",
    async ({ store, advance }) => {
      const given = { a: 0, b: 5, c: 0, d: -1, e: 5 };
      for (const [runId, priority] of Object.entries(given)) {
        await store.enqueueRun(queuedRun(runId, { priority }));
        advance(1);
      }
      assert.deepEqual(await readyIds(store), ["b", "e", "a", "c", "d"]);
      const two = await store.listReady({ pipelines: ["report"], queues: ["default"], limit: 2 });
      assert.deepEqual(
        two.map(({ runId }) => runId),
        ["b", "e"],
      );
    },
  ),

  check(
    "only runs of the given pipelines and queues are listed, without the given keys",
    async ({ store }) => {
      await store.enqueueRun(queuedRun("mail-1", { queue: "mail", concurrencyKey: "ann" }));
      await store.enqueueRun(queuedRun("mail-2", { queue: "mail", concurrencyKey: "bob" }));
      await store.enqueueRun(queuedRun("mail-3", { queue: "mail" }));
      await store.enqueueRun(queuedRun("run-1", { concurrencyKey: "ann" }));
      await store.enqueueRun(queuedRun("other", { pipeline: "other" }));
      assert.deepEqual(await readyIds(store), ["run-1"]);
      const both = await readyIds(store, "mail", "default");
      assert.deepEqual(both.sort(), ["mail-1", "mail-2", "mail-3", "run-1"]);
      assert.deepEqual(await readyIds(store, "nothing"), []);
      const query = { pipelines: ["report", "other"], queues: ["default", "mail"], limit: 10 };
      const some = await store.listReady({ ...query, exceptKeys: [{ queue: "mail", key: "ann" }] });
      assert.deepEqual(some.map(({ runId }) => runId).sort(), ["mail-2", "mail-3", "other", "run-1"]);
    },
  ),

  check("a run is not ready before its time", async ({ store, now, advance }) => {
    const notBefore = now() + 1_000;
    const { run } = await store.enqueueRun(queuedRun("run-1", { notBefore }));
    assert.deepEqual([run.status, run.readyAt, run.wakeAt], ["queued", notBefore, notBefore]);
    assert.deepEqual(await readyIds(store), []);
    assert.deepEqual(await store.listSleeping({ limit: 5 }), [{ runId: "run-1", inMs: 1_000 }]);
    advance(999);
    assert.equal(await store.wakeRun("run-1"), notBefore, "never early");
    assert.deepEqual(await readyIds(store), []);
    assert.equal(await claimed(store, "run-1", { onlyIfReady: true }), "refused");
    advance(1);
    assert.equal(await store.wakeRun("run-1"), null);
    assert.deepEqual(await readyIds(store), ["run-1"]);
    assert.deepEqual(await store.listSleeping({ limit: 5 }), []);
    assert.equal(await store.wakeRun("run-1"), null, "any number of times");
    assert.equal((await store.listEvents("run-1")).length, 2);
  }),

  check("a time that has passed is no reason to wait", async ({ store, now }) => {
    await store.enqueueRun(queuedRun("run-1", { notBefore: now() }));
    assert.deepEqual(await readyIds(store), ["run-1"]);
  }),

  check("the sleeping run that wakes first is listed first", async ({ store, now }) => {
    for (const [runId, inMs] of Object.entries({ late: 3_000, soon: 1_000, later: 2_000 }))
      await store.enqueueRun(queuedRun(runId, { notBefore: now() + inMs }));
    assert.deepEqual(await store.listSleeping({ limit: 2 }), [
      { runId: "soon", inMs: 1_000 },
      { runId: "later", inMs: 2_000 },
    ]);
  }),

  check("a run that is given back, answered or forked is ready again", async ({ store, advance }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running"]);
    await run.endAttempt(1, 1);
    await run.waiting(run.wait(1, 1));
    assert.deepEqual(await readyIds(store), []);
    advance(5);
    await store.settle(run.callId(1, 1), { as: "succeeded", result: 1 });
    assert.deepEqual(await readyIds(store), ["run-1"]);
    const later = await run.takenOver();
    assert.deepEqual(await readyIds(store), []);
    await store.releaseRun(later.fence, { status: "queued" });
    assert.deepEqual(await readyIds(store), ["run-1"]);
  }),

  check("the time in the queue does not count for a budget of time", async ({ store, now, advance }) => {
    const spec = newSpec({ maxWallclockMinutes: 1 });
    await store.enqueueRun(queuedRun("run-1", { spec }));
    advance(3_600_000);
    const outcome = await store.claimRun("run-1", claimOptions(WORKER));
    assert.ok(outcome.kind === "claimed");
    assert.equal(outcome.claim.run.deadline, now() + 60_000);
  }),

  check(
    "metadata, names and priorities that cannot be stored are refused in a sentence",
    async ({ store }) => {
      const mistakes = [
        { metadata: { tenant: 7 as unknown as string } },
        { metadata: { tenant: "x".repeat(2_000) } },
        { queue: "" },
        { queue: "q".repeat(2_000) },
        { concurrencyKey: " " },
        { priority: 1.5 },
        { notBefore: Number.NaN },
        { address: "" },
      ];
      for (const mistake of mistakes) {
        const error = await rejection(store.enqueueRun(queuedRun("run-1", mistake)));
        assert.ok(ConfigurationError.isInstance(error), String(error));
        assert.equal(await store.getRun("run-1"), null);
      }
    },
  ),

  check("a limit counts the runs that are claimed, until they are released", async ({ store }) => {
    for (const runId of ["a", "b", "c"])
      await store.enqueueRun(queuedRun(runId, { queue: "mail", concurrencyKey: "ann" }));
    await store.enqueueRun(queuedRun("d", { queue: "mail", concurrencyKey: "bob" }));
    await store.enqueueRun(queuedRun("e"));
    const key = { limits: { key: 1 } };
    assert.equal(await claimed(store, "a", key), "claimed");
    assert.deepEqual(await store.claimRun("b", claimOptions({ ...WORKER, ...key })), {
      kind: "limited",
      by: "key",
    });
    assert.equal((await store.getRun("b"))?.status, "queued");
    assert.equal(await claimed(store, "d", key), "claimed");
    assert.equal(await claimed(store, "b", { limits: { queue: 2 } }), "limited");
    assert.equal(await claimed(store, "e", { limits: { queue: 1 } }), "claimed", "of its own queue");
    assert.equal(await claimed(store, "b", { limits: { total: 3 } }), "limited");
    await store.releaseRun({ runId: "a", epoch: 1 }, SUCCEEDED);
    assert.equal(await claimed(store, "b", { limits: { total: 3, queue: 2, key: 1 } }), "claimed");
    assert.equal(await claimed(store, "c", key), "limited");
  }),

  check("runs of a dead worker are taken over, also where the limit is lower now", async (scene) => {
    const { store, advance } = scene;
    for (const runId of ["a", "b"]) {
      await store.enqueueRun(queuedRun(runId, { concurrencyKey: "ann" }));
      assert.equal(await claimed(store, runId, { limits: { key: 2 } }), "claimed");
    }
    advance(LEASE_MS);
    for (const runId of ["a", "b"])
      assert.equal(await claimed(store, runId, { from: ["running"], limits: { key: 1 } }), "claimed");
  }),

  checkSeveral("processes that claim at once stay within a limit", async ({ store, openAnother }) => {
    const stores = [store, await openAnother(), await openAnother()];
    const ids = Array.from({ length: 12 }, (_, i) => `run-${i}`);
    for (const runId of ids) await store.enqueueRun(queuedRun(runId, { concurrencyKey: "ann" }));
    const kinds = await Promise.all(
      ids.map((runId, i) => claimed(stores[i % 3] ?? store, runId, { limits: { key: 2 } })),
    );
    assert.deepEqual(
      kinds.filter((kind) => kind !== "limited"),
      ["claimed", "claimed"],
    );
  }),

  checkSeveral("processes that claim the same runs at once get each of them once", async (scene) => {
    const { store, openAnother } = scene;
    const stores = [store, await openAnother(), await openAnother()];
    const ids = Array.from({ length: 12 }, (_, i) => `run-${i}`);
    for (const runId of ids) await store.enqueueRun(queuedRun(runId, { concurrencyKey: "ann" }));
    for (const runId of ids) {
      const kinds = await Promise.all(stores.map((each) => claimed(each, runId, { limits: { key: 20 } })));
      assert.deepEqual(kinds.toSorted(), ["busy", "busy", "claimed"]);
    }
  }),

  checkSeveral("a run of a dead process is abandoned, one of a living process is not", async (scene) => {
    const { store, openAnother, fallSilent } = scene;
    const other = await openAnother();
    await SampleRun.create(store, "mine");
    await SampleRun.create(other, "theirs", { queue: "mail" });
    assert.deepEqual(await store.listAbandoned(), []);
    await fallSilent(LEASE_MS);
    const abandoned = await store.listAbandoned();
    assert.deepEqual(
      abandoned.find(({ runId }) => runId === "theirs"),
      { runId: "theirs", pipeline: "report", queue: "mail", workerVersion: null, idleMs: LEASE_MS },
    );
  }),

  check("workers that die in a run without a commit leave it to a person in the end", async (scene) => {
    const { store, advance } = scene;
    await store.enqueueRun(queuedRun("run-1"));
    for (let n = 1; n <= 3; n++) {
      assert.equal(await claimed(store, "run-1", { maxStalls: 3 }), "claimed", `worker ${n}`);
      advance(LEASE_MS);
    }
    const outcome = await store.claimRun("run-1", claimOptions({ ...WORKER, maxStalls: 3 }));
    assert.ok(outcome.kind === "stalled");
    assert.deepEqual([outcome.run.status, outcome.run.stalls, outcome.run.owner], ["waiting", 3, null]);
    const [wait] = await store.listOpenWaits();
    assert.deepEqual([wait?.kind, wait?.toolCallId, wait?.subject], ["escalation", null, { stalls: 3 }]);
    await store.answer("run-1~1", "retry", { by: "Ann" });
    assert.deepEqual(await readyIds(store), ["run-1"]);
    assert.equal(await claimed(store, "run-1", { maxStalls: 3 }), "claimed");
    assert.equal((await store.getRun("run-1"))?.stalls, 0);
  }),

  check(
    "a worker that commits something, or gives the run back, does not count",
    async ({ store, advance }) => {
      const run = await SampleRun.create(store);
      const claim = async () => {
        advance(LEASE_MS);
        const later = await run.takenOver(store, { ...WORKER, maxStalls: 9 });
        return { later, stalls: (await later.record()).stalls };
      };
      const first = await claim();
      assert.equal(first.stalls, 1, "it began a step, and died");
      await store.interruptRun(first.later.fence);
      const second = await claim();
      assert.equal(second.stalls, 1, "it gave the run back");
      await second.later.open(1);
      const third = await claim();
      assert.equal(third.stalls, 2, "it asked the model, and died");
      await third.later.open(1);
      const journal = third.later.journal(1, [], { attempt: 2 });
      await store.commitTurn(third.later.fence, third.later.commit(1, { journal }));
      const fourth = await claim();
      assert.equal(fourth.stalls, 0, "it committed a turn, and died");
    },
  ),
];
