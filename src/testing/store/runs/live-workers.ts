import assert from "node:assert/strict";
import type { WorkerFacts, WorkerReport } from "../../../store/store.ts";
import { type Check, check, checkSeveral } from "../check.ts";
import { claimOptions, LEASE_MS, SampleRun, sha256 } from "../sample-run.ts";
import { queuedRun } from "./queue.ts";

const FACTS: WorkerFacts = {
  pid: 7,
  version: "2026-11-17 größe 🙂",
  pipelines: ["report"],
  queues: ["default", "mail"],
  concurrency: 8,
  runIds: ["run-1"],
  counts: { claimed: 4, succeeded: 1, failed: 1, waiting: 1, handedBack: 1, takeovers: 2 },
  claimLatency: { p50Ms: 3, p95Ms: 40 },
  blockedAt: null,
};

export function workerReport(workerId: string, over: Partial<WorkerFacts> = {}): WorkerReport {
  return { workerId, host: "db-1", facts: { ...FACTS, ...over } };
}

/** Longer than a worker may be silent before it is removed. */
const LONG_MS = 60_001;

export const liveWorkerChecks: readonly Check[] = [
  check("a worker's report is stored as given, and replaced by its next one", async (scene) => {
    const { store, now, advance } = scene;
    assert.deepEqual(await store.listWorkers(), []);
    await store.reportWorker(workerReport("w-1"));
    const startedAt = now();
    assert.deepEqual(await store.listWorkers(), [{ ...workerReport("w-1"), startedAt, seenMs: 0 }]);
    advance(5_000);
    assert.equal((await store.listWorkers())[0]?.seenMs, 5_000);
    const next = workerReport("w-1", { runIds: [], blockedAt: 12, claimLatency: null, version: null });
    await store.reportWorker(next);
    assert.deepEqual(await store.listWorkers(), [{ ...next, startedAt, seenMs: 0 }]);
  }),

  check("a worker that ends is forgotten, whether or not it was known", async ({ store, advance }) => {
    await store.reportWorker(workerReport("w-1"));
    advance(1);
    await store.reportWorker(workerReport("w-2"));
    await store.forgetWorker("w-1");
    await store.forgetWorker("w-1");
    await store.forgetWorker("nobody");
    assert.deepEqual(
      (await store.listWorkers()).map(({ workerId }) => workerId),
      ["w-2"],
    );
  }),

  checkSeveral("a worker that is silent for a minute is removed by the next report", async (scene) => {
    const { store, openAnother, advance } = scene;
    const other = await openAnother();
    await store.reportWorker(workerReport("dead"));
    advance(LONG_MS);
    const [dead] = await other.listWorkers();
    assert.deepEqual([dead?.workerId, dead?.seenMs], ["dead", LONG_MS], "it is listed until then");
    await other.reportWorker(workerReport("living"));
    assert.deepEqual(
      (await store.listWorkers()).map(({ workerId }) => workerId),
      ["living"],
    );
    await store.reportWorker(workerReport("dead"));
    assert.equal((await store.listWorkers()).length, 2, "it was only slow");
  }),

  check("the runs that are ready, asleep and held are counted by queue", async ({ store, now, advance }) => {
    const at = now();
    for (const [runId, over] of Object.entries({
      a: { queue: "mail" },
      b: { queue: "mail", notBefore: at + 9_000 },
      c: { notBefore: at + 5_000 },
      d: { notBefore: at + 3_000 },
      e: {},
      f: {},
    }))
      await store.enqueueRun(queuedRun(runId, over));
    advance(1_000);
    await store.claimRun("e", claimOptions({ from: ["queued"] }));
    advance(10);
    await store.claimRun("f", claimOptions({ from: ["queued"] }));
    advance(3_000);
    const { ready, sleeping, running, held } = await store.readActivity({ limit: 1 });
    assert.deepEqual(ready, [{ queue: "mail", pipeline: "report", ready: 1, oldestMs: 4_010 }]);
    assert.deepEqual(sleeping, [
      { queue: "default", sleeping: 2, nextInMs: -1_010 },
      { queue: "mail", sleeping: 1, nextInMs: 4_990 },
    ]);
    assert.deepEqual(running, [{ queue: "default", running: 2 }]);
    const owner = (await store.getRun("e"))?.owner;
    const lease = { heldMs: 3_010, silentMs: 3_010, leaseMs: LEASE_MS };
    assert.deepEqual(held, [{ runId: "e", pipeline: "report", queue: "default", owner, ...lease }]);
    const left = await store.getRun("e");
    await store.interruptRun({ runId: "e", epoch: left?.epoch ?? 0 });
    advance(70);
    const given = (await store.readActivity({ limit: 9 })).held.find(({ runId }) => runId === "e");
    assert.deepEqual([given?.owner, given?.silentMs], [null, 70], "nobody holds it any more");
    assert.equal((await store.listAbandoned()).find(({ runId }) => runId === "e")?.idleMs, 70);
  }),

  check("the open waits are counted by kind, and those that ask people are listed", async (scene) => {
    const { store, advance } = scene;
    const argumentsHash = sha256("arguments").toString("hex");
    for (const runId of ["run-1", "run-2", "run-3"]) {
      const run = await SampleRun.create(store, runId);
      await run.journaled(1, ["prepared", "running"]);
      await run.endAttempt(1, 2, { outcome: "needs_wait" });
      await run.waiting(run.approval(1, 1, argumentsHash), run.wait(1, 2, { kind: "message", matches: "*" }));
      advance(10);
    }
    await store.approve("run-3~1");
    await store.moveRun("run-2", "f".repeat(32));
    const { waits, firstWaits } = await store.readActivity({ limit: 5 });
    assert.deepEqual(waits, [
      { kind: "approval", open: 1, oldestMs: 30 },
      { kind: "message", open: 2, oldestMs: 30 },
    ]);
    assert.deepEqual(firstWaits, [{ waitId: "run-1~1", runId: "run-1", kind: "approval", openMs: 30 }]);
  }),
];
