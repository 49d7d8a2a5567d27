import assert from "node:assert/strict";
import { LeaseLostError, RunNotFoundError } from "../../../core/errors.ts";
import { isJsonObject } from "../../../core/json.ts";
import type { CancelOutcome, RunEnd, Store } from "../../../store/store.ts";
import { assertRefused, type Check, check, checkSeveral, rejection } from "../check.ts";
import { readEverything } from "../everything.ts";
import {
  CHARGE,
  claimOptions,
  FAILED,
  LEASE_MS,
  newReceipt,
  newStep,
  RESERVE,
  SampleRun,
  SUCCEEDED,
  sha256,
} from "../sample-run.ts";

const ANN = { by: "Ann 🙂" };
const CANCELLED = { status: "cancelled", error: null } as const;
const ARGUMENTS = sha256("arguments").toString("hex");

/** The ways to leave a run that has not ended without a worker. */
const LEFT: { readonly [how: string]: (run: SampleRun, advance: (ms: number) => void) => Promise<void> } = {
  queued: ({ store, fence }) => store.releaseRun(fence, { status: "queued" }),
  waiting: (run) => run.waiting(run.approval(1, 2, ARGUMENTS)),
  "silent for too long": (_, advance) => Promise.resolve(advance(LEASE_MS)),
};

/** A run with one running call and one prepared call. */
async function runningCall(store: Store, runId?: string): Promise<SampleRun> {
  const run = await SampleRun.create(store, runId);
  await run.journaled(1, ["running", "prepared"]);
  return run;
}

/** A run whose worker died after a cancel was requested. */
async function cancelRequestedAndLost(store: Store, advance: (ms: number) => void): Promise<SampleRun> {
  const run = await runningCall(store);
  assert.equal((await store.requestCancel(run.runId, ANN)).kind, "requested");
  advance(LEASE_MS);
  return run;
}

async function assertEnded(run: SampleRun, outcome: CancelOutcome): Promise<void> {
  const record = await run.record();
  assert.ok(outcome.kind === "ended");
  assert.deepEqual(outcome.run, record);
  const { status, owner, error, output, cancelRequestedAt, reserved } = record;
  assert.deepEqual(
    { status, owner, error, output, cancelRequestedAt, reserved: reserved.tokens },
    { status: "cancelled", owner: null, error: null, output: null, cancelRequestedAt: null, reserved: 0 },
  );
  assert.equal(await run.store.isCancelRequested(run.runId), false, "the request is cleared");
}

export const cancelChecks: readonly Check[] = [
  ...Object.entries(LEFT).map(([how, leave]) =>
    check(`a cancel request ends a run that is ${how} at once`, async ({ store, advance }) => {
      const run = await runningCall(store);
      await leave(run, advance);
      const events = (await store.listEvents(run.runId)).length;
      const outcome = await store.requestCancel(run.runId, ANN);
      await assertEnded(run, outcome);
      assert.equal((await store.listEvents(run.runId)).length, events + 1, "it is one intent");
      const { type, data } = await run.lastEvent();
      assert.deepEqual([type, isJsonObject(data) && data.by], ["run.cancelled", "Ann 🙂"]);
      await assertRefused(store, run.runId, () => run.receipt(1, 1), LeaseLostError);
      await assertRefused(store, run.runId, () => store.renewLease(run.fence, LEASE_MS), LeaseLostError);
    }),
  ),

  check("calls that were running when the worker fell silent are in doubt, and reported", async (scene) => {
    const { store, advance } = scene;
    const run = await runningCall(store);
    const code = await run.at("code", { kind: "run" });
    await store.openToolCall(code.fence, code.codeCall(1));
    advance(LEASE_MS);
    const outcome = await store.requestCancel(run.runId);
    assert.deepEqual(outcome.kind === "ended" && outcome.inDoubt, ["run-1/draft#1.1", "run-1/code#0.1"]);
    const statuses = (await store.listToolCalls(run.runId)).map(({ status }) => status);
    assert.deepEqual(statuses, ["in_doubt", "prepared", "in_doubt"]);
    assert.deepEqual(
      (await run.tries()).map(({ outcome: end }) => end),
      ["lost", "lost"],
    );
    const steps = await store.listSteps(run.runId);
    assert.deepEqual(
      steps.map(({ status }) => status),
      ["failed", "failed"],
    );
  }),

  check("a person or a late receipt can still settle a call in doubt", async (scene) => {
    const { store, advance } = scene;
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "running"]);
    advance(LEASE_MS);
    await store.requestCancel(run.runId);
    await store.settle("run-1/draft#1.1", { as: "succeeded", result: "It went out." });
    assert.equal(await store.offerLateReceipt(run.late(1, 1, newReceipt(2))), "settled");
    const calls = await store.listToolCalls(run.runId);
    assert.deepEqual(
      calls.map(({ receipt }) => receipt?.source),
      ["person", "late"],
    );
    assert.equal((await run.record()).status, "cancelled", "and does not queue the run");
  }),

  check("calls that were already in doubt are not reported as new", async ({ store }) => {
    const run = await runningCall(store);
    await run.waiting(run.wait(1, 1));
    const outcome = await store.requestCancel(run.runId);
    assert.deepEqual(outcome.kind === "ended" && outcome.inDoubt, []);
    assert.equal((await run.callAt(1, 1)).status, "in_doubt");
  }),

  check("open waits are withdrawn, and answered ones stay", async ({ store, now, advance }) => {
    const run = await runningCall(store);
    await run.waiting(run.wait(1, 1), run.approval(1, 2, ARGUMENTS));
    await store.approve("run-1~2", ANN);
    advance(5);
    await store.requestCancel(run.runId);
    const waits = await run.waits();
    assert.deepEqual(
      waits.map(({ status, answeredAt, answeredBy }) => [status, answeredAt, answeredBy]),
      [
        ["withdrawn", now(), null],
        ["answered", now() - 5, "Ann 🙂"],
      ],
    );
    assert.deepEqual(await store.listOpenWaits(), []);
    await rejection(store.approve("run-1~1"));
  }),

  check("a model call that its worker left open is charged, once", async ({ store, advance }) => {
    const run = await SampleRun.create(store);
    await run.open(1);
    advance(LEASE_MS);
    await store.requestCancel(run.runId);
    assert.deepEqual((await run.record()).charged, RESERVE);
    const later = await run.takenOver();
    assert.deepEqual((await later.record()).charged, RESERVE);
  }),

  ...[SUCCEEDED, FAILED, CANCELLED].map((end) =>
    check(`a run that has ${end.status} is over, and stays unchanged`, async ({ store }) => {
      const run = await runningCall(store);
      await store.releaseRun(run.fence, end);
      const before = await readEverything(store, run.runId);
      assert.deepEqual(await store.requestCancel(run.runId, ANN), { kind: "over", run: await run.record() });
      assert.deepEqual(await readEverything(store, run.runId), before);
      assert.equal(await store.isCancelRequested(run.runId), false);
    }),
  ),

  check("a run that does not exist cannot be cancelled", async ({ store }) => {
    await SampleRun.create(store);
    const error = await rejection(store.requestCancel("nobody"));
    assert.ok(RunNotFoundError.isInstance(error));
    assert.equal(error.details.runId, "nobody");
  }),

  check(
    "a run held by a living worker continues, and the request is stored beside its status",
    async (scene) => {
      const { store, now, advance } = scene;
      const run = await runningCall(store);
      const before = await run.record();
      advance(5);
      assert.deepEqual(await store.requestCancel(run.runId, ANN), {
        kind: "requested",
        owner: before.owner,
        underWay: ["run-1/draft#1.1"],
      });
      assert.equal(await store.isCancelRequested(run.runId), true);
      const wished = { ...before, cancelRequestedAt: now(), updatedAt: now() };
      assert.deepEqual(await run.record(), wished);
      const { type, data } = await run.lastEvent();
      assert.deepEqual([type, data], ["run.cancel_requested", { by: "Ann 🙂" }]);
      assert.equal((await run.callAt(1, 1)).status, "running");
      await run.receipt(1, 1);
      await store.renewLease(run.fence, LEASE_MS);
      await run.start(1, 2);
      await store.commitTurn(run.fence, run.commit(1, { receipts: [newReceipt(2)] }));
      assert.equal(await store.isCancelRequested(run.runId), true, "whatever the worker writes meanwhile");
      const again = await store.requestCancel(run.runId);
      assert.deepEqual(again.kind === "requested" && again.underWay, [], "no call is running any more");
    },
  ),

  check("no cancel is requested by default", async ({ store }) => {
    const run = await runningCall(store);
    await runningCall(store, "run-2");
    await store.requestCancel("run-2");
    assert.deepEqual(
      [await store.isCancelRequested(run.runId), await store.isCancelRequested("run-2")],
      [false, true],
    );
  }),

  ...[CANCELLED, FAILED, SUCCEEDED].map((end) =>
    check(`a worker may end a run as ${end.status} despite a cancel request`, async ({ store }) => {
      const run = await SampleRun.create(store);
      await store.requestCancel(run.runId);
      await store.releaseRun(run.fence, end);
      const { status, output, error, cancelRequestedAt } = await run.record();
      assert.deepEqual([status, cancelRequestedAt], [end.status, null]);
      assert.deepEqual(
        [output, error],
        ["output" in end ? end.output : null, "error" in end ? end.error : null],
      );
      assert.equal(await store.isCancelRequested(run.runId), false);
    }),
  ),

  ...(["queued", "waiting"] as const).map((status) =>
    check(`a run released as ${status} ends as cancelled after a cancel request`, async ({ store }) => {
      const run = await runningCall(store);
      await store.requestCancel(run.runId);
      const waits = [run.wait(1, 1), run.approval(1, 2, ARGUMENTS)];
      const end: RunEnd = status === "queued" ? { status } : { status, error: null, waits };
      await store.releaseRun(run.fence, end);
      const record = await run.record();
      assert.deepEqual(
        [record.status, record.owner, record.error, record.cancelRequestedAt],
        ["cancelled", null, null, null],
      );
      assert.deepEqual(await run.waits(), [], "and has no waits");
      assert.equal((await run.callAt(1, 1)).status, "in_doubt");
      assert.equal((await run.lastEvent()).type, "run.cancelled");
      assert.deepEqual((await store.listAttempts(run.runId)).at(-1)?.endStatus, "cancelled");
    }),
  ),

  check("a cancel request outlives the worker that did not see it", async ({ store, advance }) => {
    const run = await cancelRequestedAndLost(store, advance);
    assert.equal(await store.isCancelRequested(run.runId), true);
    const outcome = await store.claimRun(run.runId, claimOptions({ from: ["queued", "running", "waiting"] }));
    assert.ok(outcome.kind === "refused");
    await assertEnded(run, { kind: "ended", run: outcome.run, inDoubt: [] });
    assert.equal((await run.callAt(1, 1)).status, "in_doubt");
    const { type, data } = await run.lastEvent();
    assert.deepEqual([type, isJsonObject(data) && data.by], ["run.cancelled", "Ann 🙂"]);
    await assertRefused(store, run.runId, () => run.receipt(1, 1), LeaseLostError);
  }),

  check("a claim that accepts cancelled runs resumes the run and clears the request", async (scene) => {
    const { store, advance } = scene;
    const run = await cancelRequestedAndLost(store, advance);
    const later = await run.takenOver(store, { from: ["running", "cancelled"] });
    assert.deepEqual([later.fence.epoch, (await run.lastEvent()).type], [2, "run.claimed"]);
    const types = (await store.listEvents(run.runId)).map(({ type }) => type);
    assert.equal(types.includes("run.cancelled"), false, "it was never ended");
    assert.equal(await store.isCancelRequested(run.runId), false);
    await store.beginStep(later.fence, newStep("draft"));
    await store.releaseRun(later.fence, { status: "queued" });
    assert.equal((await run.record()).status, "queued");
  }),

  check("a second request ends what the first one did not", async ({ store, advance }) => {
    const run = await cancelRequestedAndLost(store, advance);
    const outcome = await store.requestCancel(run.runId);
    await assertEnded(run, outcome);
    assert.deepEqual(outcome.kind === "ended" && outcome.inDoubt, ["run-1/draft#1.1"]);
    assert.equal((await store.requestCancel(run.runId)).kind, "over");
  }),

  check("a claim that accepts cancelled runs gets a cancelled run with all of its data", async (scene) => {
    const { store, advance } = scene;
    const run = await SampleRun.create(store);
    await run.committedWithCall(1);
    advance(LEASE_MS);
    await store.requestCancel(run.runId);
    const refused = await store.claimRun(run.runId, claimOptions({ from: ["queued", "running"] }));
    assert.equal(refused.kind, "refused");
    const later = await run.takenOver();
    await store.beginStep(later.fence, newStep("draft"));
    await later.committed(2, { isComplete: true });
    await store.releaseRun(later.fence, SUCCEEDED);
    assert.deepEqual((await run.record()).charged.tokens, 2 * CHARGE.amount.tokens);
  }),

  checkSeveral("a cancel request from one process is seen by another that holds the run", async (scene) => {
    const run = await runningCall(scene.store);
    const people = await scene.openAnother();
    const outcome = await people.requestCancel(run.runId);
    assert.deepEqual(outcome.kind === "requested" && outcome.owner, (await run.record()).owner);
    await run.receipt(1, 1);
    assert.equal(await scene.store.isCancelRequested(run.runId), true);
    await run.waiting(run.approval(1, 2, ARGUMENTS));
    assert.equal((await people.getRun(run.runId))?.status, "cancelled");
  }),

  checkSeveral("when a request and a claim race, the second one sees the first", async (scene) => {
    const other = await scene.openAnother();
    for (let i = 0; i < 5; i++) {
      const run = await runningCall(scene.store, `run-${i}`);
      await scene.fallSilent(LEASE_MS);
      const [cancel, claim] = await Promise.all([
        other.requestCancel(run.runId),
        scene.store.claimRun(run.runId, claimOptions({ from: ["running"] })),
      ]);
      assert.deepEqual(
        [cancel.kind, claim.kind],
        claim.kind === "claimed" ? ["requested", "claimed"] : ["ended", "refused"],
      );
    }
  }),
];
