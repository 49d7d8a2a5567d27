import assert from "node:assert/strict";
import { ConfigurationError, RunBusyError, RunDeletedError, RunNotFoundError } from "../../../core/errors.ts";
import { deleteRuns } from "../../../store/delete-runs.ts";
import type { Store } from "../../../store/store.ts";
import { assertRefused, type Check, check, checkSeveral, rejection } from "../check.ts";
import { readEverything } from "../everything.ts";
import { keyedTurn, newFork } from "../sample-fork.ts";
import { mailScenario } from "../sample-mail.ts";
import { arrived, ELSEWHERE, takenFrom, withAnotherDatabase } from "../sample-move.ts";
import { blobReceipt, claimOptions, FAILED, newRun, newStep, SampleRun, SUCCEEDED } from "../sample-run.ts";
import { jobScenario, LARGE, ledgerScenario, sessionScenario, turnScenario } from "../store-scenarios.ts";
import { queuedRun } from "./queue.ts";

const OLD = { why: "It is older than 30 days.", by: { by: "Ann" } } as const;

async function ended(store: Store, runId: string, end = SUCCEEDED as Parameters<Store["releaseRun"]>[1]) {
  const run = await SampleRun.create(store, runId);
  await run.committedWithCall(1, blobReceipt(1, LARGE));
  await store.releaseRun(run.fence, end);
  return run;
}

export const retentionChecks: readonly Check[] = [
  check("a deleted run leaves a stone that says what it was, who deleted it and why", async (scene) => {
    const { store, now, advance } = scene;
    const createdAt = now();
    const run = await ended(store, "run-1");
    const endedAt = now();
    const { charged } = await run.record();
    const last = (await store.listEvents("run-1")).at(-1);
    advance(5);
    const authenticated = { name: "ann", by: "oidc", id: "00u1" };
    const stone = await store.deleteRun("run-1", { ...OLD, by: { by: "Ann", authenticated } });
    assert.deepEqual(stone, {
      runId: "run-1",
      pipeline: "report",
      status: "succeeded",
      createdAt,
      endedAt,
      deletedAt: now(),
      deletedBy: "Ann",
      authenticated,
      why: OLD.why,
      charged,
      events: last?.seq,
      eventHash: last?.hash,
    });
    assert.deepEqual(await store.getTombstone("run-1"), stone);
    assert.deepEqual(await store.listTombstones(), [stone]);
    assert.deepEqual([await store.getRun("run-1"), await store.listRuns()], [null, []]);
    assert.equal(await readEverything(store, "run-1"), null);
    advance(5);
    assert.deepEqual(await store.deleteRun("run-1", { why: "again" }), stone, "nothing changes");
  }),

  check(
    "whatever asks for a deleted run is told that it was deleted, when, by whom and why",
    async (scene) => {
      const { store, now } = scene;
      const run = await ended(store, "run-1");
      await store.deleteRun("run-1", OLD);
      const at = new Date(now()).toISOString();
      const asks: readonly (() => Promise<unknown>)[] = [
        () => store.createRun(newRun("run-1")),
        () => store.enqueueRun(queuedRun("run-1")),
        () => store.sendMessage("run-1", { id: "m-1", event: "paid", body: 1 }),
        () => store.sendMessage("run-1", { id: "m-1", event: "paid", body: 1 }, queuedRun("run-1")),
        () => store.claimRun("run-1", claimOptions()),
        () => store.verify("run-1"),
        () => store.listEvents("run-1"),
        () => store.readRunInput("run-1"),
        () => store.requestCancel("run-1"),
        () => store.moveRun("run-1", ELSEWHERE),
        () => store.forkRun(newFork(run, 1)),
        () => store.beginStep(run.fence, newStep("more")),
      ];
      for (const ask of asks) {
        const error = await rejection(ask());
        assert.ok(RunDeletedError.isInstance(error), `${String(ask)}: ${String(error)}`);
        assert.ok(error.message.includes(`deleted at ${at} by Ann (${OLD.why})`), error.message);
      }
      assert.ok(RunNotFoundError.isInstance(await rejection(store.verify("run-2"))), "that is a loss");
      assert.ok(RunNotFoundError.isInstance(await rejection(store.deleteRun("run-2", OLD))));
      assert.equal(await store.getTombstone("run-2"), null);
    },
  ),

  check("a deletion leaves every other run as it is, forks of the run included", async (scene) => {
    const { store, advance } = scene;
    const parent = await SampleRun.create(store, "parent");
    await keyedTurn(parent, 1);
    await store.releaseRun(parent.fence, SUCCEEDED);
    await store.forkRun(newFork(parent, 1, { runId: "fork" }));
    await turnScenario(store, advance);
    await ledgerScenario(store, advance);
    await sessionScenario(store, advance);
    await jobScenario(store, advance);
    await mailScenario(store, advance);
    await store.requestCancel("mail");
    const others = (await store.listRuns()).map(({ runId }) => runId);
    for (const runId of ["parent", "run-1", "mail"]) {
      others.splice(others.indexOf(runId), 1);
      const before = await Promise.all(others.map((each) => readEverything(store, each)));
      await store.deleteRun(runId, OLD);
      assert.deepEqual(await Promise.all(others.map((each) => readEverything(store, each))), before);
    }
    assert.ok(others.includes("fork") && others.length > 3);
    assert.equal(await store.findAddress("invoice:7"), null);
  }),

  check("a run that has not ended is not deleted", async ({ store }) => {
    await store.enqueueRun(queuedRun("queued"));
    const waiting = await SampleRun.create(store, "waiting");
    await waiting.journaled(1, ["running"]);
    await waiting.endAttempt(1, 1);
    await waiting.waiting(waiting.wait(1, 1));
    const left = await SampleRun.create(store, "left");
    await store.interruptRun(left.fence);
    for (const runId of ["queued", "waiting", "left"]) {
      const error = await assertRefused(store, runId, () => store.deleteRun(runId, OLD), ConfigurationError);
      assert.match(String(error), /has not ended, it is (queued|waiting|running)/);
    }
    const held = await SampleRun.create(store, "held");
    store.attend(held.fence);
    await assertRefused(store, "held", () => store.deleteRun("held", OLD), RunBusyError);
    await ended(store, "run-1");
    for (const why of ["", " ", "w".repeat(2_000)])
      await assertRefused(store, "run-1", () => store.deleteRun("run-1", { why }), ConfigurationError);
  }),

  check("a run that was moved away can be deleted, and can still come back", async (scene) => {
    const { store } = scene;
    await withAnotherDatabase(scene, async (elsewhere) => {
      const run = await SampleRun.create(store, "run-1");
      await run.committed(1);
      await store.interruptRun(run.fence);
      await arrived(elsewhere, await takenFrom(store, "run-1", elsewhere));
      const { status } = await store.deleteRun("run-1", OLD);
      assert.equal(status, "moved");
      const transit = await takenFrom(elsewhere, "run-1", store);
      await arrived(store, transit);
      assert.deepEqual(
        [(await store.getRun("run-1"))?.status, await store.getTombstone("run-1")],
        ["running", null],
      );
      await SampleRun.create(elsewhere, "run-2").then((other) => elsewhere.interruptRun(other.fence));
      await ended(store, "run-2");
      await store.deleteRun("run-2", OLD);
      const error = await rejection(arrived(store, await takenFrom(elsewhere, "run-2", store)));
      assert.ok(RunDeletedError.isInstance(error), "another run of that id does not arrive");
    });
  }),

  check("ended runs are listed by when they ended, and deleted in small steps", async (scene) => {
    const { store, now, advance } = scene;
    for (const runId of ["a", "b", "c", "d"]) {
      await ended(store, runId, runId === "c" ? FAILED : SUCCEEDED);
      advance(10);
    }
    const endedBefore = now() - 10;
    await SampleRun.create(store, "running");
    await ended(store, "young");
    const options = { endedBefore, why: "old", by: { by: "Ann" } };
    const seen: number[] = [];
    const dry = await deleteRuns(store, {
      ...options,
      dryRun: true,
      step: 2,
      onProgress: ({ runs }) => seen.push(runs),
    });
    assert.deepEqual([dry.runs, dry.charged.tokens > 0, seen], [3, true, [2, 3]]);
    assert.equal((await store.listRuns()).length, 6);
    assert.equal((await deleteRuns(store, { ...options, status: "failed" })).runs, 1);
    assert.equal((await deleteRuns(store, { ...options, pipeline: "other" })).runs, 0);
    assert.equal((await deleteRuns(store, { ...options, limit: 1 })).runs, 1);
    assert.deepEqual((await store.listTombstones()).map(({ runId }) => runId).sort(), ["a", "c"]);
    assert.equal((await deleteRuns(store, { ...options, step: 1 })).runs, 1);
    const left = (await store.listRuns()).map(({ runId }) => runId);
    assert.deepEqual(left.sort(), ["d", "running", "young"]);
    const stones = await store.listTombstones({ limit: 2 });
    const last = stones.at(-1);
    assert.ok(last !== undefined);
    assert.equal((await store.listTombstones({ after: last })).length, 1);
  }),

  checkSeveral("of processes that delete, resume and write to a run at once, one wins", async (scene) => {
    const { store, openAnother } = scene;
    const other = await openAnother();
    for (let i = 0; i < 8; i++) {
      const runId = `run-${i}`;
      await ended(store, runId, FAILED);
      const message = { id: "m-1", event: "paid", body: 1 };
      const [deleted, claimed] = await Promise.allSettled([
        store.deleteRun(runId, OLD),
        other.claimRun(runId, claimOptions()),
        other.sendMessage(runId, message),
        other.deleteRun(runId, OLD),
      ]);
      const isGone = (await store.getRun(runId)) === null;
      assert.equal(isGone, (await store.getTombstone(runId)) !== null);
      assert.equal(claimed.status === "fulfilled", !isGone, "a claimed run is not deleted");
      if (deleted.status === "rejected")
        assert.ok(RunBusyError.isInstance(deleted.reason) || ConfigurationError.isInstance(deleted.reason));
    }
  }),
];
