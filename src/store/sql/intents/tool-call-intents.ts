import { canonicalJson } from "../../../core/canonical-json.ts";
import type {
  CodeToolCall,
  Fence,
  LateReceipt,
  NewReceipt,
  ReceiptRecord,
  ToolCallAttemptEnd,
  ToolCallStart,
} from "../../store.ts";
import type { RunHead } from "../run-head.ts";
import { exists, get, type SqlScript } from "../script.ts";
import { putBlob } from "../tables/blob-rows.ts";
import { assertHere } from "../tables/moved-run.ts";
import { fencedStep, recordEvent, requireRun, saveRun, stepHead } from "../tables/run-row.ts";
import { writeCheckpoint } from "../tables/session-rows.ts";
import {
  CODE_STEP_TURN,
  callNoAt,
  insertToolCall,
  ledgerCall,
  receiptFacts,
  saveCallState,
  settledMeanwhile,
  startToolCall,
  withdrawWaits,
  writeAnyReceipt,
} from "../tables/tool-call-rows.ts";
import { changeRow, insertRow, type Transaction } from "../transaction.ts";
import { queueIfAnswered } from "./wait-intents.ts";

export function* startToolCalls(tx: Transaction, fence: Fence, start: ToolCallStart): SqlScript<void> {
  const run = yield* fencedStep(tx, fence, start.stepKey);
  for (const call of start.calls) yield* startToolCall(tx, run, start, call);
  const { facts } = yield* writeCheckpoint(tx, run, start, start.checkpoint);
  recordEvent(tx, run, "calls.started", {
    step: (yield* stepHead(run, start.stepKey)).path,
    turn: start.turnIndex,
    calls: start.calls.map(({ callIndex }) => callIndex),
    ...facts,
  });
}

export function* openToolCall(tx: Transaction, fence: Fence, call: CodeToolCall): SqlScript<number> {
  const run = yield* fencedStep(tx, fence, call.stepKey);
  const last = yield* get(
    "SELECT max(call_index) AS n FROM tool_calls WHERE run_key = ? AND step_no = ? AND turn_index = 0",
    run.key,
    call.stepKey,
  );
  const callIndex = (last?.optionalInt("n") ?? 0) + 1;
  const row = { ...call, callIndex, turnIndex: CODE_STEP_TURN, request: canonicalJson(call.request) };
  insertToolCall(tx, run, row);
  const { facts } = yield* writeCheckpoint(tx, run, row, call.checkpoint);
  recordEvent(tx, run, call.status === "running" ? "calls.started" : "calls.prepared", {
    step: (yield* stepHead(run, call.stepKey)).path,
    turn: CODE_STEP_TURN,
    calls: [callIndex],
    new: true,
    ...facts,
  });
  return callIndex;
}

export function* endToolCallAttempt(tx: Transaction, fence: Fence, end: ToolCallAttemptEnd): SqlScript<void> {
  const run = yield* fencedStep(tx, fence, end.stepKey);
  const callNo = yield* callNoAt(run, end);
  const call = yield* ledgerCall(run, callNo);
  if (call.hasReceipt) throw settledMeanwhile(callNo);
  // Only the running attempt of a call can end.
  if (call.status !== "running" || call.attempt !== end.attempt || call.hasEnded || call.startedAt === null)
    throw new Error(`Attempt ${end.attempt} of call ${end.turnIndex}.${end.callIndex} is not running.`);
  insertRow(tx, run, "tool_call_attempts", {
    call_no: callNo,
    attempt: end.attempt,
    started_at: call.startedAt,
    ended_at: tx.now,
    outcome: end.outcome,
    error_code: end.errorCode,
    error_detail: end.errorDetail,
    external_correlation_id: end.correlationId,
    late_at: null,
    late_status: null,
    late_output: null,
  });
  saveCallState(tx, run, callNo, {
    ...call,
    status: end.inDoubt ? "in_doubt" : "running",
    endsBy: end.hasEnded ? tx.now : call.endsBy,
  });
  recordEvent(tx, run, end.inDoubt ? "call.in_doubt" : "call.tried", {
    step: (yield* stepHead(run, end.stepKey)).path,
    turn: end.turnIndex,
    call: end.callIndex,
    attempt: end.attempt,
    outcome: end.outcome,
    ...(end.errorCode === null ? {} : { code: end.errorCode }),
  });
}

export function* recordReceipt(tx: Transaction, fence: Fence, record: ReceiptRecord): SqlScript<void> {
  const { stepKey, turnIndex, receipt } = record;
  const run = yield* fencedStep(tx, fence, stepKey);
  yield* writeAnyReceipt(tx, run, record, receipt);
  const step = (yield* stepHead(run, stepKey)).path;
  recordEvent(tx, run, "call.receipt", receiptFacts(step, turnIndex, receipt));
}

export function* offerLateReceipt(tx: Transaction, late: LateReceipt): SqlScript<"settled" | "kept"> {
  const { runId, stepKey, turnIndex, attempt } = late;
  const run = yield* requireRun(runId);
  yield* assertHere(run);
  const step = (yield* stepHead(run, stepKey)).path;
  const { callIndex } = late.receipt;
  const callNo = yield* callNoAt(run, { stepKey, turnIndex, callIndex });
  const call = yield* ledgerCall(run, callNo);
  if (call.status === "in_doubt" && call.attempt === attempt && !call.hasReceipt) {
    const receipt: NewReceipt = { ...late.receipt, source: "late" };
    const wasAsked = yield* withdrawWaits(tx, run, callNo);
    yield* writeAnyReceipt(tx, run, late, receipt);
    if (wasAsked) yield* queueIfAnswered(tx, run);
    saveRun(tx, run, "call.receipt", receiptFacts(step, turnIndex, receipt));
    return "settled";
  }
  yield* storeLateOutcome(tx, run, callNo, late);
  const { status } = late.receipt;
  saveRun(tx, run, "call.late", { step, turn: turnIndex, call: callIndex, attempt, status });
  return "kept";
}

/** Stores a late outcome with its attempt. An attempt that brought the receipt itself has nothing to add. */
function* storeLateOutcome(
  tx: Transaction,
  run: RunHead,
  callNo: number,
  { attempt, receipt }: LateReceipt,
): SqlScript<void> {
  const isWaitedFor = yield* exists(
    `SELECT 1 AS found FROM tool_call_attempts
      WHERE run_key = ? AND call_no = ? AND attempt = ? AND late_at IS NULL`,
    run.key,
    callNo,
    attempt,
  );
  if (!isWaitedFor) throw settledMeanwhile(callNo);
  if (receipt.blob !== null) putBlob(tx, run, receipt.blob);
  changeRow(
    tx,
    run,
    "tool_call_attempts",
    { call_no: callNo, attempt },
    { late_at: tx.now, late_status: receipt.status, late_output: JSON.stringify(receipt.output) },
  );
}
