import assert from "node:assert/strict";
import type { Store } from "../../store/store.ts";
import { budgetWait, newSpec } from "./sample-contract.ts";
import { claimedAt, keyedCall, keyedCodeCall, keyedTurn, newFork } from "./sample-fork.ts";
import {
  blobReceipt,
  CHARGE,
  LEASE_MS,
  newReceipt,
  newStep,
  SampleRun,
  SUCCEEDED,
  sha256,
} from "./sample-run.ts";
import {
  milestone,
  NEW_FINGERPRINT,
  sampleEvent,
  sessionCommit,
  startLineage,
  wholeSlice,
} from "./sample-session.ts";

type StoreScenario = (store: Store, advance: (ms: number) => void) => Promise<readonly string[]>;

/** A run and its turns, one intent after the other. Returns the expected events. */
export const turnScenario: StoreScenario = async (store, advance) => {
  const run = await SampleRun.create(store, "run-1", { limit: { tokens: 150, microDollars: null } });
  const { fence, stepKey } = run;
  const settlement = { stepKey, turnIndex: 1, charge: { ...CHARGE, amount: { tokens: 1, microDollars: 0 } } };
  await run.open(1);
  await store.settleModelCall(fence, { ...settlement, attempt: 1 });
  assert.equal((await run.open(1, { reserve: { tokens: 151, microDollars: 0 } })).kind, "denied");
  await run.open(1);
  await store.journalResponse(fence, run.journal(1, ["running", "prepared"], { attempt: 2 }));
  await run.receipt(1, 1);
  await run.start(1, 2);
  await store.commitTurn(fence, run.commit(1, { receipts: [newReceipt(2)], next: run.opening(2) }));
  await store.renewLease(fence, LEASE_MS);
  await store.commitTurn(fence, run.commit(2, { journal: run.journal(2), isComplete: true }));
  await store.finishStep(fence, { stepKey, output: 1, context: null });
  const loop = await run.at("loop");
  await store.decideLoop(fence, {
    stepKey: loop.stepKey,
    iteration: 1,
    done: true,
    output: 1,
    context: null,
  });
  await store.openToolCall(fence, loop.codeCall(1));
  advance(LEASE_MS);
  const later = await run.takenOver();
  await store.beginStep(later.fence, newStep("loop"));
  await store.releaseRun(later.fence, SUCCEEDED);
  return TURN_EVENTS;
};

const TURN_EVENTS = [
  "run.created",
  "step.begun",
  "turn.opened",
  "model.settled",
  "turn.denied",
  "turn.opened",
  "turn.journaled",
  "call.receipt",
  "calls.started",
  "turn.committed",
  "turn.committed",
  "step.finished",
  "step.begun",
  "loop.decided",
  "calls.started",
  "run.claimed",
  "step.resumed",
  "run.succeeded",
] as const;

export const LARGE = Buffer.alloc(30_000, "large");
export const EVIDENCE = Buffer.alloc(20_000, "evidence");

/**
 * The same for the ledger: calls that are attempted, lost, approved, denied, settled, answered, deduplicated and
 * reported too late. Its run is "ledger".
 */
export const ledgerScenario: StoreScenario = async (store, advance) => {
  const approved = sha256("approved").toString("hex");
  const run = await SampleRun.create(store, "ledger");
  await run.open(1);
  const statuses = ["prepared", "running", "running", "prepared", "prepared"] as const;
  await store.journalResponse(run.fence, run.journal(1, statuses));
  await run.receipt(1, 2, blobReceipt(2, LARGE));
  const duplicate = { source: "pawl", duplicateOf: "ledger/draft#1.2" } as const;
  await run.receipt(1, 4, { ...duplicate, status: "deduplicated" });
  await run.endAttempt(1, 3, { outcome: "failed", inDoubt: false });
  await run.start(1, 3);
  await run.endAttempt(1, 3, { attempt: 2, hasEnded: false });
  const code = await run.at("code", { kind: "run" });
  await store.openToolCall(code.fence, code.codeCall(1, { status: "prepared" }));
  await store.openToolCall(code.fence, code.codeCall(2));
  await run.waiting(
    run.approval(1, 1, approved),
    run.wait(1, 3),
    run.approval(1, 5, approved),
    code.wait(0, 2, { kind: "escalation" }),
  );
  await store.approve("ledger~1", { by: "Ann" });
  await store.settle("ledger/draft#1.3", { as: "retry" }, { by: "Bob" });
  await store.deny("ledger~3", "Not this one.");
  await store.answer("ledger~4", { colour: "grün" });
  let later = await run.takenOver();
  await store.beginStep(later.fence, newStep("draft"));
  await later.startApproved(1, 1, approved);
  advance(LEASE_MS);
  later = await run.takenOver();
  await store.offerLateReceipt(run.late(1, 1, newReceipt(1, { correlationId: "m-1" })));
  await later.start(1, 3);
  await store.offerLateReceipt(run.late(1, 2, blobReceipt(3, EVIDENCE)));
  const denied = newReceipt(5, { status: "cancelled", source: "pawl", errorCode: "denied" });
  const receipts = [newReceipt(3, { status: "failed", uncertain: true, errorCode: "reset" }), denied];
  const commit = later.commit(1, { receipts, followUp: "Go on.", messages: 7, tokens: 50 });
  await store.commitTurn(later.fence, { ...commit, next: later.opening(2) });
  await store.commitTurn(later.fence, later.commit(2, { journal: later.journal(2), isComplete: true }));
  await store.finishStep(later.fence, { stepKey: run.stepKey, output: { text: "naïve" }, context: { a: 1 } });
  await later.at("code", { kind: "run" });
  await store.startToolCalls(later.fence, {
    stepKey: code.stepKey,
    turnIndex: 0,
    calls: [{ callIndex: 1, timeoutMs: 1, approvedArguments: null }],
  });
  const receipt = newReceipt(1);
  await store.recordReceipt(later.fence, { stepKey: code.stepKey, turnIndex: 0, receipt });
  await store.pinShape(later.fence, [{ name: "code", kind: "run" }]);
  await store.finishStep(later.fence, { stepKey: code.stepKey, output: "done", context: null });
  await store.releaseRun(later.fence, SUCCEEDED);
  return LEDGER_EVENTS;
};

const LEDGER_EVENTS = [
  "run.created",
  "step.begun",
  "turn.opened",
  "turn.journaled",
  "call.receipt",
  "call.receipt",
  "call.tried",
  "calls.started",
  "call.in_doubt",
  "step.begun",
  "calls.prepared",
  "calls.started",
  "run.waiting",
  "wait.answered",
  "wait.answered",
  "wait.answered",
  "wait.answered",
  "run.claimed",
  "step.resumed",
  "calls.started",
  "run.claimed",
  "call.receipt",
  "calls.started",
  "call.late",
  "turn.committed",
  "turn.committed",
  "step.finished",
  "step.resumed",
  "calls.started",
  "call.receipt",
  "run.reshaped",
  "step.finished",
  "run.succeeded",
] as const;

/** A large snapshot: one of its slices is that of the checkpoint before it. */
export const LARGE_SNAPSHOT = {
  slices: { notes: Array.from({ length: 500 }, (_, i) => `Größe ${i}`), plan: "read" },
};

/**
 * The same for the session: calls with session events, slices that grow and shrink, small and large checkpoints, a
 * turn that is abandoned for a new lineage, and the end of a step. Its run is "session"; its checkpoints are of turn
 * 1, turn 2 (large, and superseded), turn 4 and the code step.
 */
export const sessionScenario: StoreScenario = async (store, advance) => {
  const early = await SampleRun.create(store, "session", { deadline: 1 });
  const { stepKey } = early;
  await early.journaled(1, ["running", "running"]);
  await early.receipt(1, 1, { sessionEvents: [sampleEvent("naïve"), sampleEvent("twice")] });
  const first = sessionCommit({
    slices: [
      wholeSlice("plan", ["read", "write", "send"]),
      wholeSlice("log", [{ said: "naïve" }], { kind: "log" }),
    ],
    applied: [early.callId(1, 1), early.callId(1, 2)],
    checkpoint: milestone({ slices: { plan: "read" } }, { lastCall: early.callId(1, 2) }),
  });
  const receipts = [newReceipt(2, { sessionEvents: [sampleEvent("last")] })];
  await store.commitTurn(early.fence, early.commit(1, { receipts, session: first, next: early.opening(2) }));
  const second = sessionCommit({
    slices: [wholeSlice("plan", ["read", "written"]), wholeSlice("gone", [1, 2])],
    checkpoint: milestone(LARGE_SNAPSHOT, { artifacts: ["größe.txt"] }),
  });
  await store.commitTurn(early.fence, early.commit(2, { journal: early.journal(2), session: second }));
  await early.journaled(3, ["running"]);
  await early.receipt(3, 1, { sessionEvents: [sampleEvent("abandoned")] });
  advance(LEASE_MS);
  const attempt = { resumedFrom: "milestone", reason: "Another prompt." } as const;
  const run = await early.takenOver(store, { attempt, deadline: 2 });
  await store.beginStep(run.fence, newStep("draft"));
  await startLineage(run, 1, {
    slices: [wholeSlice("plan", ["read", "write", "send"]), wholeSlice("gone", [])],
  });
  await run.open(4);
  const items = [[2, "sent"]] as const;
  const fourth = sessionCommit({
    slices: [wholeSlice("plan", [], { length: 3, items, version: 2 })],
    applied: [run.callId(3, 1)],
    checkpoint: milestone({ slices: { plan: "sent" } }),
  });
  const journal = run.journal(4);
  await store.commitTurn(run.fence, run.commit(4, { journal, session: fourth, isComplete: true }));
  await store.finishStep(run.fence, { stepKey, output: 1, context: null });
  const render = await run.at("render", { kind: "run" });
  await store.openToolCall(render.fence, render.codeCall(1));
  await render.receipt(0, 1, { sessionEvents: [sampleEvent("rendered")] });
  const end = sessionCommit({
    slices: [wholeSlice("log", [], { kind: "log", length: 2, items: [[1, { said: "rendered" }]] })],
    applied: [render.callId(0, 1)],
    checkpoint: { type: "step_boundary", snapshot: { slices: { plan: "done" } }, cursor: {} },
  });
  await store.finishStep(render.fence, { stepKey: render.stepKey, output: 2, context: null, session: end });
  await store.releaseRun(run.fence, SUCCEEDED);
  return SESSION_EVENTS;
};

const SESSION_EVENTS = [
  "run.created",
  "step.begun",
  "turn.opened",
  "turn.journaled",
  "call.receipt",
  "turn.committed",
  "turn.committed",
  "turn.opened",
  "turn.journaled",
  "call.receipt",
  "run.claimed",
  "step.resumed",
  "lineage.begun",
  "turn.opened",
  "turn.committed",
  "step.finished",
  "step.begun",
  "calls.started",
  "call.receipt",
  "step.finished",
  "run.succeeded",
] as const;

export const JOB_RESULT = Buffer.alloc(10_000, "result");

/**
 * The same for a job: a contract, budgets that are raised and asked about, a question, artifacts, a dropped response,
 * an accepted divergence, a skipped step, and a cancel request that is overridden. Its run is "job"; "job-fork"
 * continues from its second turn, which is the first of its second lineage.
 */
export const jobScenario: StoreScenario = async (store, advance) => {
  const early = await jobUntilItWaits(store);
  await store.approve("job~1", { by: "Ann" });
  advance(5);
  await store.answer("job~2", 9, { by: "Bob" });
  let run = await early.takenOver(store, { budgets: { maxSteps: 9 } });
  await store.beginStep(run.fence, newStep("write"));
  const { stepKey } = run;
  await store.dropTurn(run.fence, { stepKey, turnIndex: 3 });
  await store.acceptDivergence(run.fence, { stepKey, fingerprint: NEW_FINGERPRINT, why: "It is bolder." });
  await run.open(3);
  await store.journalResponse(
    run.fence,
    run.journal(3, ["running"], { attempt: 2, calls: [keyedCall(run, 3, 1)] }),
  );
  await run.waiting(run.wait(3, 1, { kind: "question", question: "Which colour?" }));
  await store.answer("job~3", { colour: "grün" });
  run = await early.takenOver();
  await store.beginStep(run.fence, newStep("write"));
  await store.requestCancel("job", { by: "Ann" });
  await store.commitTurn(run.fence, run.commit(3, { isComplete: true }));
  await store.releaseRun(run.fence, { status: "queued" });
  run = await early.takenOver();
  await store.beginStep(run.fence, newStep("write"));
  await keep(run, "report.txt", "Größe");
  await keep(run, "report.txt", "Größe 7");
  await store.finishStep(run.fence, { stepKey, output: "written", context: null });
  await store.skipStep(run.fence, newStep("notify"));
  await store.releaseRun(run.fence, SUCCEEDED);
  const slices = [wholeSlice("plan", ["read"])];
  await store.forkRun(
    newFork(run, 2, { runId: "job-fork", slices, checkpoint: milestone({ slices: { plan: "read" } }) }),
  );
  const fork = await claimedAt(store, "job-fork", "write");
  await fork.committed(3);
  await keep(fork, "fork.txt", "fork");
  return JOB_EVENTS;
};

const JOB_EVENTS = [
  "run.created",
  "step.begun",
  "step.begun",
  "calls.started",
  "call.tried",
  "calls.started",
  "call.receipt",
  "artifact.kept",
  "step.finished",
  "step.begun",
  "turn.opened",
  "turn.journaled",
  "turn.committed",
  "lineage.begun",
  "turn.opened",
  "turn.journaled",
  "turn.committed",
  "turn.opened",
  "turn.journaled",
  "run.waiting",
  "wait.answered",
  "wait.answered",
  "run.claimed",
  "step.resumed",
  "turn.dropped",
  "divergence.accepted",
  "turn.opened",
  "turn.journaled",
  "run.waiting",
  "wait.answered",
  "run.claimed",
  "step.resumed",
  "run.cancel_requested",
  "turn.committed",
  "run.cancelled",
  "run.claimed",
  "step.resumed",
  "artifact.kept",
  "artifact.kept",
  "step.finished",
  "step.skipped",
  "run.succeeded",
] as const;

/** A code step, two turns in two lineages, and a third whose response needs an approval and a higher budget. */
async function jobUntilItWaits(store: Store): Promise<SampleRun> {
  const approved = sha256("approved").toString("hex");
  const budgets = { maxToolCalls: 2, maxTokens: 1_000, maxWallclockMinutes: 10 };
  const first = await SampleRun.create(store, "job", { spec: newSpec(budgets) });
  const fetching = await first.at("fetch", { kind: "run" });
  await store.openToolCall(first.fence, keyedCodeCall(fetching, 1));
  await fetching.endAttempt(0, 1, { outcome: "failed", inDoubt: false });
  await fetching.start(0, 1);
  await fetching.receipt(0, 1, blobReceipt(1, JOB_RESULT));
  await keep(fetching, "pages.txt", "Seiten");
  await store.finishStep(first.fence, { stepKey: fetching.stepKey, output: "fetched", context: { n: 1 } });
  const early = await first.at("write");
  await keyedTurn(early, 1);
  await startLineage(early);
  const duplicate = { status: "deduplicated", source: "pawl", duplicateOf: "job/write#1.1" } as const;
  const session = sessionCommit({
    slices: [wholeSlice("plan", ["read"])],
    applied: ["job/write#2.1"],
    checkpoint: milestone({ slices: { plan: "read" } }),
  });
  const second = { followUp: "Weiter.", messages: 4, session };
  await keyedTurn(early, 2, [newReceipt(1), newReceipt(2, duplicate)], second);
  await early.open(3);
  const calls = [1, 2].map((n) => keyedCall(early, 3, n, { status: "prepared" }));
  const checkpoint = {
    type: "pre_side_effect",
    snapshot: { slices: { plan: "read" } },
    cursor: { phase: "send" },
  } as const;
  await store.journalResponse(early.fence, early.journal(3, ["prepared", "prepared"], { calls, checkpoint }));
  await early.waiting(early.approval(3, 1, approved), budgetWait("maxToolCalls", 2, 3));
  return early;
}

function keep({ store, fence, stepKey }: SampleRun, name: string, text: string): Promise<unknown> {
  return store.keepArtifact(fence, { stepKey, name, bytes: Buffer.from(text) });
}
