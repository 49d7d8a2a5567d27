// For each intent of the contract: what makes it due, and the intent itself.

import { openStore } from "../../../src/store/open-store.ts";
import type { Store, StoreIntent } from "../../../src/store/store.ts";
import { workerReport } from "../../../src/testing/store/runs/live-workers.ts";
import { queuedRun } from "../../../src/testing/store/runs/queue.ts";
import { newSchedule } from "../../../src/testing/store/runs/schedules.ts";
import { keyedTurn, newFork } from "../../../src/testing/store/sample-fork.ts";
import {
  beginArrival,
  ELSEWHERE,
  type RunInTransit,
  takenFrom,
} from "../../../src/testing/store/sample-move.ts";
import {
  blobReceipt,
  CHARGE,
  claimOptions,
  LEASE_MS,
  newReceipt,
  newRun,
  newStart,
  newStep,
  SampleRun,
  SUCCEEDED,
  sha256,
} from "../../../src/testing/store/sample-run.ts";
import {
  eventTurn,
  milestone,
  milestoneTurn,
  NEW_FINGERPRINT,
  startLineage,
} from "../../../src/testing/store/sample-session.ts";
import { newCompaction, newSummary, SampleTalk } from "../../../src/testing/store/sample-talk.ts";
import { ACCESS_CASES } from "./access-cases.ts";
import { WEBHOOK_CASES } from "./webhook-cases.ts";

/** How far the clock of the stores is ahead of where each case begins. */
export const clockOfCases = { aheadMs: 0 };

/** Brings a run of this id to where the intent is due, and returns the intent. */
type PrepareIntent = (store: Store, runId: string) => Promise<() => Promise<unknown>>;

/** What keeps an intent from having a commit that could be cut off. */
export const WITHOUT_COMMIT: Partial<Record<StoreIntent, string>> = {
  attend: "It registers a worker in memory.",
  beginEffect: "It writes only after the owner's session broke: a renewal, as renewLease is.",
  redactionKey: "It is an option of the store.",
  storeId: "A database gets its id once, and this one has it.",
};

/** Intents that count what they find: repeated, because an answer was lost, they find nothing left to do. */
export const COUNTS_AGAIN: readonly StoreIntent[] = [
  "collectBlobs",
  "dropArrivingRows",
  "configureSchedules",
  "fireSchedule",
];

/** A configuration with a schedule for every minute. Those of other cases stay, since it is not newer than theirs. */
const scheduled = (name: string) => ({ revision: 1, schedules: [newSchedule({}, name)] });

const MESSAGE = { id: "m-1", event: "paid", body: { amount: 7 } };

const effectOf = (run: SampleRun) => ({ stepKey: run.stepKey, turnIndex: 1, callIndex: 0, attempt: 1 });

/** A run whose first turn has one call in this state. */
async function withCall(store: Store, runId: string, status: "prepared" | "running"): Promise<SampleRun> {
  const run = await SampleRun.create(store, runId);
  await run.journaled(1, [status]);
  return run;
}

/** A run that waits for a person. */
async function asking(store: Store, runId: string, kind: "approval" | "question" | "in_doubt") {
  const run = await withCall(store, runId, kind === "approval" ? "prepared" : "running");
  if (kind === "in_doubt") await run.endAttempt(1, 1);
  const approval = run.approval(1, 1, sha256("arguments").toString("hex"));
  await run.waiting(kind === "approval" ? approval : run.wait(1, 1, { kind }));
  return run;
}

const request = (runId: string) => ({ runId, request: { topic: 1 }, createdAt: 1, deadline: null });

/** A run that another store has moved to this one. */
async function moved(store: Store, runId: string): Promise<RunInTransit> {
  elsewhere ??= openStore(":memory:", { now: () => 1_000_000 });
  const run = await SampleRun.create(await elsewhere, runId);
  await run.committed(1);
  await (await elsewhere).interruptRun(run.fence);
  return takenFrom(await elsewhere, runId, store);
}

let elsewhere: Promise<Store> | null = null;

/** A conversation with an open exchange. */
async function stoppable(store: Store, runId: string): Promise<SampleTalk> {
  const talk = await SampleTalk.create(store, runId);
  await talk.begin(1, await talk.say("one"));
  return talk;
}

/** A conversation between two exchanges. */
async function idle(store: Store, runId: string): Promise<SampleRun> {
  const talk = await stoppable(store, runId);
  await talk.answer(1);
  return talk.run;
}

export const INTENT_CASES: Readonly<Record<StoreIntent, PrepareIntent>> = {
  createRun: (store, runId) => Promise.resolve(() => store.createRun(newRun(runId))),
  enqueueRun: (store, runId) => Promise.resolve(() => store.enqueueRun(queuedRun(runId))),
  wakeRun: async (store, runId) => {
    const run = await withCall(store, runId, "running");
    await run.endAttempt(1, 1, { outcome: "needs_wait" });
    await run.waiting(
      run.wait(1, 1, { kind: "time", due: { at: 0 }, onDue: { action: "answer", value: 1 } }),
    );
    return () => store.wakeRun(runId);
  },
  sendMessage: async (store, runId) => {
    const run = await withCall(store, runId, "running");
    await run.endAttempt(1, 1, { outcome: "needs_wait" });
    await run.waiting(run.wait(1, 1, { kind: "message", matches: "*" }));
    return () => store.sendMessage(runId, MESSAGE);
  },
  withdrawMessage: async (store, runId) => {
    await store.enqueueRun(queuedRun(runId));
    await store.sendMessage(runId, MESSAGE);
    return () => store.withdrawMessage(runId, MESSAGE.id);
  },
  endExchange: async (store, runId) => {
    const talk = await stoppable(store, runId);
    const { fence, stepKey } = talk.run;
    await talk.answer(1, { isComplete: false });
    return () => store.endExchange(fence, { stepKey, outcome: "stopped", why: "stopped by Ann" });
  },
  openSummary: async (store, runId) => {
    const { fence, stepKey } = await idle(store, runId);
    return () => store.openSummary(fence, newSummary(stepKey, 2));
  },
  compactHistory: async (store, runId) => {
    const { fence, stepKey } = await idle(store, runId);
    await store.openSummary(fence, newSummary(stepKey, 2));
    const call = { stepKey, turnIndex: 2, attempt: 1, charge: CHARGE };
    return () => store.compactHistory(fence, newCompaction(stepKey, 2, { call }));
  },
  requestStop: async (store, runId) => {
    await stoppable(store, runId);
    return () => store.requestStop(runId, { by: "Ann" });
  },
  requestResume: async (store, runId) => {
    const run = await SampleRun.create(store, runId);
    await store.releaseRun(run.fence, { status: "failed", error: null });
    return () => store.requestResume(runId, { from: "milestone" }, { by: "Ann" });
  },
  reportWorker: (store, runId) => Promise.resolve(() => store.reportWorker(workerReport(runId))),
  forgetWorker: async (store, runId) => {
    await store.reportWorker(workerReport(runId));
    return () => store.forgetWorker(runId);
  },
  deleteRun: async (store, runId) => {
    const run = await SampleRun.create(store, runId);
    await store.releaseRun(run.fence, SUCCEEDED);
    return async () => {
      // The hash depends on the id of the run.
      const { eventHash: _, ...stone } = await store.deleteRun(runId, { why: "old", by: { by: "Ann" } });
      return stone;
    };
  },
  configureSchedules: (store, name) => Promise.resolve(() => store.configureSchedules(scheduled(name))),
  fireSchedule: async (store, name) => {
    await store.configureSchedules(scheduled(name));
    clockOfCases.aheadMs = 60_000;
    return () => store.fireSchedule(name);
  },
  fireNow: async (store, name) => {
    await store.configureSchedules(scheduled(name));
    return () => store.fireNow(name, { by: "Ann" });
  },
  pauseSchedule: async (store, name) => {
    await store.configureSchedules(scheduled(name));
    return () => store.pauseSchedule(name, { by: "Ann" });
  },
  resumeSchedule: async (store, name) => {
    await store.configureSchedules(scheduled(name));
    await store.pauseSchedule(name, { by: "Ann" });
    clockOfCases.aheadMs = 60_000;
    return () => store.resumeSchedule(name, { by: "Ann" });
  },
  ...ACCESS_CASES,
  ...WEBHOOK_CASES,
  claimRun: async (store, runId) => {
    const run = await SampleRun.create(store, runId);
    await store.interruptRun(run.fence);
    return () => store.claimRun(runId, claimOptions());
  },
  renewLease: async (store, runId) => {
    const run = await SampleRun.create(store, runId);
    return () => store.renewLease(run.fence, LEASE_MS);
  },
  releaseRun: async (store, runId) => {
    const run = await SampleRun.create(store, runId);
    return () => store.releaseRun(run.fence, SUCCEEDED);
  },
  interruptRun: async (store, runId) => {
    const run = await SampleRun.create(store, runId);
    return () => store.interruptRun(run.fence);
  },
  attend: async (store, runId) => {
    const run = await SampleRun.create(store, runId);
    return () => Promise.resolve(store.attend(run.fence).leave());
  },
  beginEffect: async (store, runId) => {
    const run = await SampleRun.create(store, runId);
    return async () => (await store.beginEffect(run.fence, effectOf(run))).end();
  },
  pinShape: async (store, runId) => {
    const run = await SampleRun.create(store, runId);
    return () => store.pinShape(run.fence, [{ name: "draft", kind: "run" }]);
  },
  beginStep: async (store, runId) => {
    const run = await SampleRun.create(store, runId);
    return () => store.beginStep(run.fence, newStep("polish"));
  },
  finishStep: async (store, runId) => {
    const run = await SampleRun.create(store, runId);
    await run.committed(1, { isComplete: true });
    return () => store.finishStep(run.fence, { stepKey: run.stepKey, output: 1, context: null });
  },
  skipStep: async (store, runId) => {
    const run = await SampleRun.create(store, runId);
    return () => store.skipStep(run.fence, newStep("polish"));
  },
  decideLoop: async (store, runId) => {
    const run = await SampleRun.create(store, runId);
    const { stepKey } = await run.at("loop", { kind: "loop" });
    const decision = { stepKey, iteration: 1, done: true, output: 1, context: null };
    return () => store.decideLoop(run.fence, decision);
  },
  openTurn: async (store, runId) => {
    const run = await SampleRun.create(store, runId);
    return () => run.open(1);
  },
  settleModelCall: async (store, runId) => {
    const run = await SampleRun.create(store, runId);
    await run.open(1);
    const settlement = { stepKey: run.stepKey, turnIndex: 1, attempt: 1, charge: CHARGE };
    return () => store.settleModelCall(run.fence, settlement);
  },
  journalResponse: async (store, runId) => {
    const run = await SampleRun.create(store, runId);
    await run.open(1);
    return () => store.journalResponse(run.fence, run.journal(1, ["running"]));
  },
  startToolCalls: async (store, runId) => {
    const run = await withCall(store, runId, "prepared");
    const start = { stepKey: run.stepKey, turnIndex: 1, calls: [newStart(1)] };
    return () => store.startToolCalls(run.fence, start);
  },
  openToolCall: async (store, runId) => {
    const run = await SampleRun.create(store, runId);
    const code = await run.at("code", { kind: "run" });
    return () => store.openToolCall(run.fence, code.codeCall(1));
  },
  correlateToolCall: async (store, runId) => {
    const run = await withCall(store, runId, "running");
    return () => run.correlate(1, 1, "m-1");
  },
  endToolCallAttempt: async (store, runId) => {
    const run = await withCall(store, runId, "running");
    return () => run.endAttempt(1, 1);
  },
  recordReceipt: async (store, runId) => {
    const run = await withCall(store, runId, "running");
    return () => run.receipt(1, 1);
  },
  offerLateReceipt: async (store, runId) => {
    const run = await withCall(store, runId, "running");
    await run.endAttempt(1, 1, { hasEnded: false });
    return () => store.offerLateReceipt(run.late(1, 1, newReceipt(1)));
  },
  commitTurn: async (store, runId) => {
    const run = await SampleRun.create(store, runId);
    await run.open(1);
    const next = run.opening(2);
    return () => store.commitTurn(run.fence, run.commit(1, { journal: run.journal(1), next }));
  },
  saveCheckpoint: async (store, runId) => {
    const run = await SampleRun.create(store, runId);
    await eventTurn(run, 1);
    const late = { stepKey: run.stepKey, turnIndex: 1, checkpoint: milestone({ turn: 1 }) };
    return () => store.saveCheckpoint(run.fence, late);
  },
  beginLineage: async (store, runId) => {
    const run = await SampleRun.create(store, runId);
    const checkpoint = await milestoneTurn(run, 1);
    return () => startLineage(run, checkpoint);
  },
  acceptDivergence: async (store, runId) => {
    const run = await SampleRun.create(store, runId);
    await run.committed(1);
    const accepted = { stepKey: run.stepKey, fingerprint: NEW_FINGERPRINT, why: "It is bolder." };
    return () => store.acceptDivergence(run.fence, accepted);
  },
  keepTrace: async (store, runId) => {
    const run = await SampleRun.create(store, runId);
    return () => store.keepTrace(run.fence, `00-${"a".repeat(32)}-${"b".repeat(16)}-01`);
  },
  dropTurn: async (store, runId) => {
    const run = await withCall(store, runId, "prepared");
    return () => store.dropTurn(run.fence, { stepKey: run.stepKey, turnIndex: 1 });
  },
  forkRun: async (store, runId) => {
    const run = await SampleRun.create(store, `${runId}-parent`);
    await keyedTurn(run, 1);
    await store.interruptRun(run.fence);
    return () => store.forkRun(newFork(run, 1, { runId }));
  },
  beginWork: (store, runId) => Promise.resolve(() => store.beginWork(runId, request(runId))),
  completeWork: async (store, runId) => {
    await store.beginWork(runId, request(runId));
    return () => store.completeWork(runId, runId);
  },
  approve: async (store, runId) => {
    await asking(store, runId, "approval");
    return () => store.approve(`${runId}~1`, { by: "Ann" });
  },
  deny: async (store, runId) => {
    await asking(store, runId, "approval");
    return () => store.deny(`${runId}~1`, "No.", { by: "Ann" });
  },
  answer: async (store, runId) => {
    await asking(store, runId, "question");
    return () => store.answer(`${runId}~1`, "blue", { by: "Ann" });
  },
  settle: async (store, runId) => {
    const run = await asking(store, runId, "in_doubt");
    return () => store.settle(run.callId(1, 1), { as: "retry" }, { by: "Ann" });
  },
  keepArtifact: async (store, runId) => {
    const run = await SampleRun.create(store, runId);
    const artifact = { stepKey: run.stepKey, name: "a.txt", bytes: Buffer.from("a") };
    return () => store.keepArtifact(run.fence, artifact);
  },
  requestCancel: async (store, runId) => {
    const run = await SampleRun.create(store, runId);
    await store.interruptRun(run.fence);
    return () => store.requestCancel(runId, { by: "Ann" });
  },
  collectBlobs: async (store, runId) => {
    const run = await withCall(store, runId, "running");
    await run.receipt(1, 1, blobReceipt(1, Buffer.alloc(9_000, "blob")));
    await store.releaseRun(run.fence, SUCCEEDED);
    return () => store.collectBlobs({ olderThanMs: 0, maxBytes: 0 });
  },
  storeId: async (store) => {
    await store.storeId();
    return () => store.storeId();
  },
  moveRun: async (store, runId) => {
    const run = await SampleRun.create(store, runId);
    await store.interruptRun(run.fence);
    return () => store.moveRun(runId, ELSEWHERE);
  },
  beginArrival: async (store, runId) => {
    const { arriving } = await moved(store, runId);
    return () => store.beginArrival(arriving);
  },
  dropArrivingRows: async (store, runId) => {
    const transit = await moved(store, runId);
    const fence = await beginArrival(store, transit);
    // Of one table: each call drops those of the next one that has any.
    const events = transit.rows.filter(({ table }) => table === "events");
    await store.storeArrivingRows(fence, events);
    return () => store.dropArrivingRows(fence);
  },
  storeArrivingRows: async (store, runId) => {
    const transit = await moved(store, runId);
    const fence = await beginArrival(store, transit);
    return () => store.storeArrivingRows(fence, transit.rows);
  },
  finishArrival: async (store, runId) => {
    const transit = await moved(store, runId);
    const fence = await beginArrival(store, transit);
    await store.storeArrivingRows(fence, transit.rows);
    return () => store.finishArrival(fence, transit.blobs);
  },
  redactionKey: (store) => Promise.resolve(() => Promise.resolve(store.redactionKey().length)),
  close: async (store, runId) => {
    await SampleRun.create(store, runId);
    return () => store.close({ graceMs: 0 });
  },
};
