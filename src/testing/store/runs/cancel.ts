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

/** How a run is left with nobody at it, and not ended. */
const LEFT: { readonly [how: string]: (run: SampleRun, advance: (ms: number) => void) => Promise<void> } = {
  queued: ({ store, fence }) => store.releaseRun(fence, { status: "queued" }),
  waiting: (run) => run.waiting(run.approval(1, 2, ARGUMENTS)),
  "silent for too long": (_, advance) => Promise.resolve(advance(LEASE_MS)),
};

/** One call is under way, and one waits. */
async function underWay(store: Store, runId?: string): Promise<SampleRun> {
  const run = await SampleRun.create(store, runId);
  await run.journaled(1, ["running", "prepared"]);
  return run;
}

/** A worker died after somebody had wanted its run to end. */
async function wantedAndLost(store: Store, advance: (ms: number) => void): Promise<SampleRun> {
  const run = await underWay(store);
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
  assert.equal(await run.store.isCancelRequested(run.runId), false, "it was done");
}

export const cancelChecks: readonly Check[] = [
  ...Object.entries(LEFT).map(([how, leave]) =>
    check(`a run that is ${how} is ended by the wish, at once`, async ({ store, advance }) => {
      const run = await underWay(store);
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

  check("what was under way when its worker fell silent is in doubt, and is said", async (scene) => {
    const { store, advance } = scene;
    const run = await underWay(store);
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

  check("a call in doubt is still settled: by a person, and by a receipt that comes late", async (scene) => {
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
    assert.equal((await run.record()).status, "cancelled", "and wakes nobody");
  }),

  check("calls that were in doubt before are not told as new", async ({ store }) => {
    const run = await underWay(store);
    await run.waiting(run.wait(1, 1));
    const outcome = await store.requestCancel(run.runId);
    assert.deepEqual(outcome.kind === "ended" && outcome.inDoubt, []);
    assert.equal((await run.callAt(1, 1)).status, "in_doubt");
  }),

  check("open questions are withdrawn, and answered ones stay", async ({ store, now, advance }) => {
    const run = await underWay(store);
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

  check("a model call that its worker left open is paid for, once", async ({ store, advance }) => {
    const run = await SampleRun.create(store);
    await run.open(1);
    advance(LEASE_MS);
    await store.requestCancel(run.runId);
    assert.deepEqual((await run.record()).charged, RESERVE);
    const later = await run.takenOver();
    assert.deepEqual((await later.record()).charged, RESERVE);
  }),

  ...[SUCCEEDED, FAILED, CANCELLED].map((end) =>
    check(`a run that has ${end.status} is over, and stays what it is`, async ({ store }) => {
      const run = await underWay(store);
      await store.releaseRun(run.fence, end);
      const before = await readEverything(store, run.runId);
      assert.deepEqual(await store.requestCancel(run.runId, ANN), { kind: "over", run: await run.record() });
      assert.deepEqual(await readEverything(store, run.runId), before);
      assert.equal(await store.isCancelRequested(run.runId), false);
    }),
  ),

  check("a run that is not there cannot be cancelled", async ({ store }) => {
    await SampleRun.create(store);
    const error = await rejection(store.requestCancel("nobody"));
    assert.ok(RunNotFoundError.isInstance(error));
    assert.equal(error.details.runId, "nobody");
  }),

  check("a run that a living worker has goes on, and the wish is kept beside its status", async (scene) => {
    const { store, now, advance } = scene;
    const run = await underWay(store);
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
    assert.deepEqual(again.kind === "requested" && again.underWay, [], "what was under way is done");
  }),

  check("nobody wants a run to end unless somebody said so", async ({ store }) => {
    const run = await underWay(store);
    await underWay(store, "run-2");
    await store.requestCancel("run-2");
    assert.deepEqual(
      [await store.isCancelRequested(run.runId), await store.isCancelRequested("run-2")],
      [false, true],
    );
  }),

  ...[CANCELLED, FAILED, SUCCEEDED].map((end) =>
    check(`a worker may end a run as ${end.status} that somebody wants to end`, async ({ store }) => {
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
    check(
      `a run that would be left ${status} ends cancelled, once somebody wants that`,
      async ({ store }) => {
        const run = await underWay(store);
        await store.requestCancel(run.runId);
        const waits = [run.wait(1, 1), run.approval(1, 2, ARGUMENTS)];
        const end: RunEnd = status === "queued" ? { status } : { status, error: null, waits };
        await store.releaseRun(run.fence, end);
        const record = await run.record();
        assert.deepEqual(
          [record.status, record.owner, record.error, record.cancelRequestedAt],
          ["cancelled", null, null, null],
        );
        assert.deepEqual(await run.waits(), [], "and asks nobody anything");
        assert.equal((await run.callAt(1, 1)).status, "in_doubt");
        assert.equal((await run.lastEvent()).type, "run.cancelled");
        assert.deepEqual((await store.listAttempts(run.runId)).at(-1)?.endStatus, "cancelled");
      },
    ),
  ),

  check("the wish outlives the worker that did not see it", async ({ store, advance }) => {
    const run = await wantedAndLost(store, advance);
    assert.equal(await store.isCancelRequested(run.runId), true);
    const outcome = await store.claimRun(run.runId, claimOptions({ from: ["queued", "running", "waiting"] }));
    assert.ok(outcome.kind === "refused");
    await assertEnded(run, { kind: "ended", run: outcome.run, inDoubt: [] });
    assert.equal((await run.callAt(1, 1)).status, "in_doubt");
    const { type, data } = await run.lastEvent();
    assert.deepEqual([type, isJsonObject(data) && data.by], ["run.cancelled", "Ann 🙂"]);
    await assertRefused(store, run.runId, () => run.receipt(1, 1), LeaseLostError);
  }),

  check("whoever wants a cancelled run too goes on with it, and the wish is gone", async (scene) => {
    const { store, advance } = scene;
    const run = await wantedAndLost(store, advance);
    const later = await run.takenOver(store, { from: ["running", "cancelled"] });
    assert.deepEqual([later.fence.epoch, (await run.lastEvent()).type], [2, "run.claimed"]);
    const types = (await store.listEvents(run.runId)).map(({ type }) => type);
    assert.equal(types.includes("run.cancelled"), false, "it was never ended");
    assert.equal(await store.isCancelRequested(run.runId), false);
    await store.beginStep(later.fence, newStep("draft"));
    await store.releaseRun(later.fence, { status: "queued" });
    assert.equal((await run.record()).status, "queued");
  }),

  check("a second wish ends what the first one did not", async ({ store, advance }) => {
    const run = await wantedAndLost(store, advance);
    const outcome = await store.requestCancel(run.runId);
    await assertEnded(run, outcome);
    assert.deepEqual(outcome.kind === "ended" && outcome.inDoubt, ["run-1/draft#1.1"]);
    assert.equal((await store.requestCancel(run.runId)).kind, "over");
  }),

  check("a cancelled run is taken up by whoever asks for one, with all that it has", async (scene) => {
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

  checkSeveral("one process wants it, and the other one that has the run sees it", async (scene) => {
    const run = await underWay(scene.store);
    const people = await scene.openAnother();
    const outcome = await people.requestCancel(run.runId);
    assert.deepEqual(outcome.kind === "requested" && outcome.owner, (await run.record()).owner);
    await run.receipt(1, 1);
    assert.equal(await scene.store.isCancelRequested(run.runId), true);
    await run.waiting(run.approval(1, 2, ARGUMENTS));
    assert.equal((await people.getRun(run.runId))?.status, "cancelled");
  }),

  checkSeveral("of a wish and a claim at once one comes first, and the other sees it", async (scene) => {
    const other = await scene.openAnother();
    for (let i = 0; i < 5; i++) {
      const run = await underWay(scene.store, `run-${i}`);
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
