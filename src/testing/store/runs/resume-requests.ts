import assert from "node:assert/strict";
import { BudgetExceededError, ConfigurationError, RunNotFoundError } from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { RequestedResume, ResumeRequest, Store } from "../../../store/store.ts";
import { assertRefused, type Check, check, checkSeveral, rejection } from "../check.ts";
import { claimOptions, FAILED, LEASE_MS, newRun, SampleRun, SUCCEEDED, sha256 } from "../sample-run.ts";
import { milestoneTurn, NEW_FINGERPRINT, startLineage } from "../sample-session.ts";

const ANN = { by: "Ann 🙂", authenticated: { name: "ann", by: "pawl", id: "a-1" } } as const;
const ARGUMENTS = sha256("arguments").toString("hex");
const MILESTONE: ResumeRequest = { from: "milestone", reason: "A better prompt." };
const READY = { pipelines: ["report"], queues: ["default"], limit: 10 };

/** The ways in which a run stops, so that a person may want it resumed. */
const STOPPED: {
  readonly [how: string]: (run: SampleRun, advance: (ms: number) => void) => Promise<unknown>;
} = {
  failed: ({ store, fence }) => store.releaseRun(fence, FAILED),
  cancelled: ({ store, fence }) => store.releaseRun(fence, { status: "cancelled", error: null }),
  waiting: (run) => run.waiting(run.approval(1, 1, ARGUMENTS)),
  queued: ({ store, fence }) => store.releaseRun(fence, { status: "queued" }),
  "interrupted by its closing store": ({ store, fence }) => store.interruptRun(fence),
  "silent for too long": (_, advance) => Promise.resolve(advance(LEASE_MS)),
};

/** A run whose first turn has a call that was not started. */
async function withPreparedCall(store: Store): Promise<SampleRun> {
  const run = await SampleRun.create(store);
  await run.journaled(1, ["prepared"]);
  return run;
}

/** A run with a milestone and a turn after it, which has failed. */
async function failedAfterMilestone(store: Store): Promise<SampleRun> {
  const run = await SampleRun.create(store);
  await milestoneTurn(run, 1);
  await run.committed(2);
  await store.releaseRun(run.fence, FAILED);
  return run;
}

/** What a worker that claims the run now has to do; null if nothing but to continue. */
async function claimed(run: SampleRun, over: Parameters<typeof claimOptions>[0] = {}) {
  const outcome = await run.store.claimRun(run.runId, claimOptions({ from: ["queued", "running"], ...over }));
  assert.ok(outcome.kind === "claimed", `the run can be claimed, got ${outcome.kind}`);
  const { epoch, run: record } = outcome.claim;
  const next = new SampleRun(run.store, { runId: run.runId, epoch }, run.step);
  assert.deepEqual(await next.record(), record);
  return { next, record, left: workOf(record.resumeRequest) };
}

function workOf(resume: RequestedResume | null) {
  if (resume === null) return null;
  const { from, redoTurn, acceptDivergence } = resume;
  return { from, redoTurn, acceptDivergence };
}

async function lastAttempt({ store, runId }: SampleRun) {
  const last = (await store.listAttempts(runId)).at(-1);
  return { resumedFrom: last?.resumedFrom, reason: last?.reason };
}

const TO_MILESTONE = { from: "milestone", redoTurn: false, acceptDivergence: null } as const;
const DONE = { from: "turn", redoTurn: false, acceptDivergence: null } as const;

export const resumeRequestChecks: readonly Check[] = [
  ...Object.entries(STOPPED).map(([how, stop]) =>
    check(`a resume request puts a run that is ${how} into the queue`, async ({ store, advance, now }) => {
      const run = await withPreparedCall(store);
      await stop(run, advance);
      const events = (await store.listEvents(run.runId)).length;
      const outcome = await store.requestResume(run.runId, MILESTONE, ANN);
      const record = await run.record();
      assert.deepEqual(outcome, { kind: "requested", run: record });
      assert.deepEqual(
        [record.status, record.owner, record.wakeAt, record.stalls],
        ["queued", null, null, 0],
      );
      assert.deepEqual(record.resumeRequest, {
        ...TO_MILESTONE,
        changesHash: null,
        allowance: {},
        reason: "A better prompt.",
        by: { name: ANN.by, at: now(), authenticated: ANN.authenticated },
        takenSeq: null,
      });
      assert.equal((await store.listEvents(run.runId)).length, events + 1, "it is one intent");
      const { type, data } = await run.lastEvent();
      const { by, authenticated, from } = data as JsonObject;
      assert.deepEqual(
        [type, by, authenticated, from],
        ["run.resume_requested", ANN.by, ANN.authenticated, "milestone"],
      );
      assert.deepEqual(
        (await store.listReady(READY)).map(({ runId }) => runId),
        [run.runId],
      );
      assert.deepEqual((await claimed(run)).left, TO_MILESTONE);
      assert.deepEqual(await lastAttempt(run), { resumedFrom: "milestone", reason: "A better prompt." });
    }),
  ),

  check("a run that a living process holds is not resumed", async ({ store, now }) => {
    const run = await SampleRun.create(store);
    const events = await store.listEvents(run.runId);
    const outcome = await store.requestResume(run.runId, {}, ANN);
    const { owner } = await run.record();
    assert.deepEqual(outcome, { kind: "busy", owner, until: now() + LEASE_MS });
    assert.deepEqual(await store.listEvents(run.runId), events);
  }),

  checkSeveral("a run of a silent process is requested, and that process loses it", async (scene) => {
    const { store, openAnother, fallSilent } = scene;
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running"]);
    const another = await openAnother();
    assert.equal((await another.requestResume(run.runId, {})).kind, "busy");
    await fallSilent(LEASE_MS);
    assert.equal((await another.requestResume(run.runId, {})).kind, "requested");
    assert.equal((await run.callAt(1, 1)).status, "in_doubt");
    await rejection(run.receipt(1, 1));
    await rejection(store.renewLease(run.fence, LEASE_MS));
  }),

  check("there is nothing to resume of a run that has succeeded", async ({ store }) => {
    const run = await SampleRun.create(store);
    await store.releaseRun(run.fence, SUCCEEDED);
    const record = await run.record();
    assert.deepEqual(await store.requestResume(run.runId, {}, ANN), { kind: "over", run: record });
    await assert.rejects(store.requestResume("no-run", {}), RunNotFoundError);
  }),

  check("nor of one that was moved to another store", async ({ store }) => {
    const run = await SampleRun.create(store);
    await store.releaseRun(run.fence, FAILED);
    await store.moveRun(run.runId, "another-store");
    const outcome = await store.requestResume(run.runId, {}, ANN);
    assert.deepEqual(outcome, { kind: "over", run: await run.record() });
  }),

  check("a person who has not seen the last event is told so", async ({ store }) => {
    const run = await failedAfterMilestone(store);
    const seen = (await store.listEvents(run.runId)).length;
    await store.requestResume(run.runId, { ifSeq: seen }, ANN);
    const record = await run.record();
    const outcome = await store.requestResume(run.runId, { from: "milestone", ifSeq: seen }, { by: "Bob" });
    assert.deepEqual(outcome, { kind: "changed", run: record, seq: seen + 1 });
    assert.deepEqual(await run.record(), record);
  }),

  check("a request without a reason is recorded with what had stopped the run", async ({ store }) => {
    const run = await failedAfterMilestone(store);
    await store.requestResume(run.runId, {});
    await claimed(run);
    assert.deepEqual(await lastAttempt(run), { resumedFrom: "turn", reason: "failed: step_failed" });
  }),

  check("a later request takes the place of one that no worker has taken", async ({ store }) => {
    const run = await failedAfterMilestone(store);
    await store.requestResume(run.runId, MILESTONE, ANN);
    const work = { from: "turn", redoTurn: true, acceptDivergence: "It is fine." } as const;
    await store.requestResume(run.runId, { ...work, reason: "Again." }, { by: "Bob" });
    const { left, record } = await claimed(run);
    assert.deepEqual(left, work);
    assert.equal(record.resumeRequest?.by.name, "Bob");
    assert.deepEqual(await lastAttempt(run), { resumedFrom: "turn", reason: "Again." });
  }),

  check("a cancel withdraws the request, and cancels the run", async ({ store }) => {
    const run = await failedAfterMilestone(store);
    await store.requestResume(run.runId, MILESTONE, ANN);
    assert.equal((await store.requestCancel(run.runId)).kind, "ended");
    const { status, resumeRequest } = await run.record();
    assert.deepEqual([status, resumeRequest], ["cancelled", null]);
    assert.deepEqual((await claimed(run, { from: ["cancelled"] })).left, null);
  }),

  check("a request overrides a cancel that no worker has seen", async ({ store, advance }) => {
    const run = await SampleRun.create(store);
    assert.equal((await store.requestCancel(run.runId)).kind, "requested");
    advance(LEASE_MS);
    await store.requestResume(run.runId, {});
    const { status, cancelRequestedAt } = await run.record();
    assert.deepEqual([status, cancelRequestedAt], ["queued", null]);
    await claimed(run);
  }),

  check("the first claim of a request changes the limits, and no later one does", async (scene) => {
    const { store, now, advance } = scene;
    const run = await failedAfterMilestone(store);
    const deadline = now() + 1_000_000;
    const limits = { budgets: { maxToolCalls: 7 }, budget: { tokens: 900 }, deadline };
    await store.requestResume(run.runId, { ...MILESTONE, ...limits });
    assert.equal((await run.record()).deadline, null, "nothing changes before a worker has it");
    const { record } = await claimed(run);
    const limitsOf = ({ budgets, limit, deadline: until }: typeof record) => [
      budgets?.maxToolCalls,
      limit.tokens,
      until,
    ];
    assert.deepEqual(limitsOf(record), [7, 900, deadline]);
    assert.deepEqual(record.resumeRequest?.allowance, {});
    advance(LEASE_MS);
    await claimed(run, { deadline: deadline + 1, budgets: { maxToolCalls: 8 } });
    advance(LEASE_MS);
    assert.deepEqual(limitsOf((await claimed(run)).record), [8, 900, deadline + 1]);
  }),

  check("a worker that dies before the new lineage leaves the request to the next one", async (scene) => {
    const { store, advance } = scene;
    const run = await failedAfterMilestone(store);
    await store.requestResume(run.runId, MILESTONE, ANN);
    await claimed(run);
    advance(LEASE_MS);
    const second = await claimed(run);
    assert.deepEqual(second.left, TO_MILESTONE);
    assert.deepEqual(await lastAttempt(run), { resumedFrom: "milestone", reason: "interrupted" });
    await startLineage(second.next, 1);
    advance(LEASE_MS);
    const third = await claimed(run);
    assert.deepEqual(third.left, DONE, "and not again once the lineage has begun");
    assert.deepEqual(await lastAttempt(run), { resumedFrom: "turn", reason: "interrupted" });
    await third.next.committed(3);
    advance(LEASE_MS);
    assert.deepEqual((await claimed(run)).left, null, "nor anything of it once a turn is committed");
  }),

  check("a dropped response is not dropped again, but a change is still accepted", async (scene) => {
    const { store, advance } = scene;
    const run = await withPreparedCall(store);
    await store.releaseRun(run.fence, FAILED);
    const acceptDivergence = "A better prompt.";
    await store.requestResume(run.runId, { redoTurn: true, acceptDivergence });
    const first = await claimed(run);
    assert.deepEqual(first.left, { from: "turn", redoTurn: true, acceptDivergence });
    await store.dropTurn(first.next.fence, { stepKey: run.stepKey, turnIndex: 1 });
    advance(LEASE_MS);
    const second = await claimed(run);
    assert.deepEqual(second.left, { from: "turn", redoTurn: false, acceptDivergence });
    await second.next.open(1);
    advance(LEASE_MS);
    assert.deepEqual((await claimed(run)).left, DONE);
  }),

  check("a change is accepted once, also if the worker that accepted it dies at once", async (scene) => {
    const { store, advance } = scene;
    const run = await withPreparedCall(store);
    await store.releaseRun(run.fence, FAILED);
    await store.requestResume(run.runId, { acceptDivergence: "A better prompt." });
    const first = await claimed(run);
    const accepted = { stepKey: run.stepKey, fingerprint: NEW_FINGERPRINT, why: "A better prompt." };
    await store.acceptDivergence(first.next.fence, accepted);
    advance(LEASE_MS);
    assert.deepEqual((await claimed(run)).left, DONE);
  }),

  check(
    "consent is for the changes that the run failed with, or for those that it names",
    async ({ store }) => {
      const run = await SampleRun.create(store);
      const details = { irrecoverable: true, changes: [], changesHash: "of the error" };
      const error = { code: "resume", message: "It has changed.", details };
      const consent = { acceptDivergence: "A better prompt." } as const;
      await store.releaseRun(run.fence, { status: "failed", error });
      const kept = async () => (await run.record()).resumeRequest?.changesHash;
      await store.requestResume(run.runId, consent);
      assert.equal(await kept(), "of the error");
      const { next } = await claimed(run);
      await store.releaseRun(next.fence, { status: "failed", error });
      await store.requestResume(run.runId, { ...consent, changesHash: "of a forecast" });
      assert.equal(await kept(), "of a forecast");
      const again = await claimed(run);
      assert.equal(await kept(), "of a forecast", "also for the worker that takes the run");
      await store.releaseRun(again.next.fence, { status: "failed", error });
      await store.requestResume(run.runId, {});
      assert.equal(await kept(), null, "nothing is accepted");
      const last = await claimed(run);
      await store.releaseRun(last.next.fence, FAILED);
      await store.requestResume(run.runId, consent);
      assert.equal(await kept(), null, "the run failed for another reason");
    },
  ),

  check("a request outlives a release in good order, and a question about an open call", async (scene) => {
    const { store } = scene;
    const run = await SampleRun.create(store);
    await milestoneTurn(run, 1);
    await run.journaled(2, ["running"]);
    await run.endAttempt(2, 1);
    await store.releaseRun(run.fence, FAILED);
    await store.requestResume(run.runId, MILESTONE);
    const first = await claimed(run);
    await store.releaseRun(first.next.fence, { status: "queued" });
    const second = await claimed(run);
    assert.deepEqual(second.left, TO_MILESTONE);
    await store.interruptRun(second.next.fence);
    const third = await claimed(run);
    await third.next.waiting(third.next.wait(2, 1));
    await store.settle(run.callId(2, 1), { as: "succeeded", result: "It went out." });
    assert.deepEqual((await claimed(run)).left, TO_MILESTONE);
  }),

  check("a change is accepted by the next worker, and not by one that comes after a wait", async (scene) => {
    const { store } = scene;
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running"]);
    await run.endAttempt(1, 1);
    await store.releaseRun(run.fence, FAILED);
    await store.requestResume(run.runId, { redoTurn: true, acceptDivergence: "A better prompt." });
    const work = { from: "turn", redoTurn: true } as const;
    const first = await claimed(run);
    await store.releaseRun(first.next.fence, { status: "queued" });
    const second = await claimed(run);
    assert.deepEqual(second.left, { ...work, acceptDivergence: "A better prompt." });
    await second.next.waiting(second.next.wait(1, 1));
    await store.settle(run.callId(1, 1), { as: "succeeded", result: "It went out." });
    assert.deepEqual((await claimed(run)).left, { ...work, acceptDivergence: null });
  }),

  check("the end of the attempt ends the request", async ({ store }) => {
    const run = await failedAfterMilestone(store);
    for (const end of [FAILED, { status: "cancelled", error: null }, SUCCEEDED] as const) {
      await store.requestResume(run.runId, MILESTONE);
      const { next } = await claimed(run);
      await store.releaseRun(next.fence, end);
      assert.equal((await run.record()).resumeRequest, null);
    }
  }),

  check("a resume with options of its own takes the place of a request", async ({ store }) => {
    const run = await failedAfterMilestone(store);
    await store.requestResume(run.runId, { ...MILESTONE, budget: { tokens: 900 } });
    const attempt = { resumedFrom: "turn", reason: "By hand." } as const;
    const { left, record } = await claimed(run, { replacesRequest: true, attempt });
    assert.deepEqual([left, record.limit.tokens], [null, null]);
    assert.deepEqual(await lastAttempt(run), attempt);
  }),

  check("waits that are open stay open, and can be answered before a worker comes", async (scene) => {
    const { store, now } = scene;
    const run = await withPreparedCall(store);
    await run.waiting({ ...run.approval(1, 1, ARGUMENTS), due: { at: now() + 1_000 } });
    assert.equal((await run.record()).wakeAt, now() + 1_000);
    await store.requestResume(run.runId, {});
    const [wait] = await run.waits();
    assert.equal(wait?.status, "open");
    await store.approve(wait.waitId, ANN);
    const { status, wakeAt } = await run.record();
    assert.deepEqual([status, wakeAt], ["queued", null]);
    const { next } = await claimed(run);
    await next.startApproved(1, 1, ARGUMENTS);
  }),

  check("a run that was queued for later is ready at once", async ({ store, now, advance }) => {
    const { leaseMs: _, ...later } = newRun("later");
    await store.enqueueRun({ ...later, notBefore: now() + 60_000 });
    advance(10);
    await store.requestResume("later", {});
    const record = await store.getRun("later");
    assert.deepEqual([record?.readyAt, record?.wakeAt], [now(), null]);
  }),

  check("a worker takes a run again in which too many have died", async ({ store, advance }) => {
    const run = await SampleRun.create(store);
    advance(LEASE_MS);
    const stalled = await store.claimRun(run.runId, claimOptions({ maxStalls: 1 }));
    assert.equal(stalled.kind, "stalled");
    await store.requestResume(run.runId, {});
    await claimed(run, { maxStalls: 1 });
  }),

  check("consent to a change ends when too many workers have died in the run", async ({ store, advance }) => {
    const run = await failedAfterMilestone(store);
    await store.requestResume(run.runId, { from: "turn", acceptDivergence: "A better prompt." });
    await claimed(run, { maxStalls: 1 });
    advance(LEASE_MS);
    assert.equal((await store.claimRun(run.runId, claimOptions({ maxStalls: 1 }))).kind, "stalled");
    assert.equal((await run.record()).resumeRequest?.acceptDivergence ?? null, null);
  }),

  check("a wrong request is refused, and changes nothing", async ({ store }) => {
    const run = await failedAfterMilestone(store);
    const wrong: readonly unknown[] = [
      { from: "somewhere" },
      { from: { snapshot: {}, cursor: {} } },
      { redoTurn: "yes" },
      { acceptDivergence: " " },
      { changesHash: "4f2a" },
      { acceptDivergence: "It is fine.", changesHash: "" },
      { reason: 7 },
      { budgets: { maxFun: 1 } },
      { budgets: { maxTokens: 0 } },
      { budget: { tokens: -1 } },
      { deadline: Number.NaN },
      { ifSeq: 1.5 },
      { milestone: true },
    ];
    for (const request of wrong)
      await assertRefused(
        store,
        run.runId,
        () => store.requestResume(run.runId, request as ResumeRequest),
        ConfigurationError,
      );
  }),

  check("a failure budget that is used up has to be raised", async ({ store }) => {
    const run = await SampleRun.create(store);
    const details = { budget: "maxSameErrorRepeats", limit: 3, used: 3 };
    const error = { code: "budget_exceeded", message: "Three equal failures.", details };
    await store.releaseRun(run.fence, { status: "failed", error });
    await assertRefused(store, run.runId, () => store.requestResume(run.runId, {}), BudgetExceededError);
    const request = { budgets: { maxSameErrorRepeats: 4 } };
    assert.equal((await store.requestResume(run.runId, request)).kind, "requested");
  }),
];
