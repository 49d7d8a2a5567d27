// A person asks for a resume: what becomes of the run, and when they are refused.

import assert from "node:assert/strict";
import { BudgetExceededError, ConfigurationError, RunNotFoundError } from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { ResumeRequest } from "../../../store/store.ts";
import { assertRefused, type Check, check, checkSeveral, rejection } from "../check.ts";
import { claimOptions, FAILED, LEASE_MS, newRun, SampleRun, SUCCEEDED, sha256 } from "../sample-run.ts";
import {
  ANN,
  claimed,
  failedAfterMilestone,
  lastAttempt,
  MILESTONE,
  TO_MILESTONE,
  withPreparedCall,
} from "./stopped-runs.ts";

const ARGUMENTS = sha256("arguments").toString("hex");
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
