// What is left of a requested resume for each worker that takes the run: done once, and only with the consent that was given.

import assert from "node:assert/strict";
import { type Check, check } from "../check.ts";
import { claimOptions, FAILED, LEASE_MS, SampleRun, SUCCEEDED } from "../sample-run.ts";
import { milestoneTurn, NEW_FINGERPRINT, startLineage } from "../sample-session.ts";
import {
  ANN,
  claimed,
  DONE,
  failedAfterMilestone,
  lastAttempt,
  MILESTONE,
  TO_MILESTONE,
  withPreparedCall,
} from "./stopped-runs.ts";

export const resumeWorkChecks: readonly Check[] = [
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

  check("consent to a change ends when too many workers have died in the run", async ({ store, advance }) => {
    const run = await failedAfterMilestone(store);
    await store.requestResume(run.runId, { from: "turn", acceptDivergence: "A better prompt." });
    await claimed(run, { maxStalls: 1 });
    advance(LEASE_MS);
    assert.equal((await store.claimRun(run.runId, claimOptions({ maxStalls: 1 }))).kind, "stalled");
    assert.equal((await run.record()).resumeRequest?.acceptDivergence ?? null, null);
  }),
];
