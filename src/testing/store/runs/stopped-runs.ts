// Runs that were stopped, and what a worker that claims one of them has to do.

import assert from "node:assert/strict";
import type { RequestedResume, ResumeRequest, Store } from "../../../store/store.ts";
import { claimOptions, FAILED, SampleRun } from "../sample-run.ts";
import { milestoneTurn } from "../sample-session.ts";

export const ANN = { by: "Ann 🙂", authenticated: { name: "ann", by: "pawl", id: "a-1" } } as const;
export const MILESTONE: ResumeRequest = { from: "milestone", reason: "A better prompt." };
export const TO_MILESTONE = { from: "milestone", redoTurn: false, acceptDivergence: null } as const;
export const DONE = { from: "turn", redoTurn: false, acceptDivergence: null } as const;

/** A run whose first turn has a call that was not started. */
export async function withPreparedCall(store: Store): Promise<SampleRun> {
  const run = await SampleRun.create(store);
  await run.journaled(1, ["prepared"]);
  return run;
}

/** A run with a milestone and a turn after it, which has failed. */
export async function failedAfterMilestone(store: Store): Promise<SampleRun> {
  const run = await SampleRun.create(store);
  await milestoneTurn(run, 1);
  await run.committed(2);
  await store.releaseRun(run.fence, FAILED);
  return run;
}

/** What a worker that claims the run now has to do; null if nothing but to continue. */
export async function claimed(run: SampleRun, over: Parameters<typeof claimOptions>[0] = {}) {
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

export async function lastAttempt({ store, runId }: SampleRun) {
  const last = (await store.listAttempts(runId)).at(-1);
  return { resumedFrom: last?.resumedFrom, reason: last?.reason };
}
