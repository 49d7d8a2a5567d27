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
import type { Database } from "../database.ts";
import type { RunHead } from "../run-head.ts";
import { putBlob } from "../tables/blob-rows.ts";
import { coverRow } from "../tables/event-rows.ts";
import { fencedStep, recordEvent, requireRun, saveRun, stepHead } from "../tables/run-row.ts";
import { writeCheckpoint } from "../tables/session-rows.ts";
import {
  CODE_STEP_TURN,
  callAttemptDigest,
  callNoAt,
  hasReceipt,
  insertToolCall,
  receiptFacts,
  settledMeanwhile,
  startToolCall,
  toolCallDigest,
  withdrawWaits,
  writeAnyReceipt,
} from "../tables/tool-call-rows.ts";
import { queueIfAnswered } from "./wait-intents.ts";

export function startToolCalls(database: Database, now: number, fence: Fence, start: ToolCallStart): void {
  const run = fencedStep(database, fence, start.stepKey);
  for (const call of start.calls) startToolCall(database, run, now, start, call);
  const { facts } = writeCheckpoint(database, run, now, start, start.checkpoint);
  recordEvent(database, run, now, "calls.started", {
    step: stepHead(database, run, start.stepKey).path,
    turn: start.turnIndex,
    calls: start.calls.map(({ callIndex }) => callIndex),
    ...facts,
  });
}

export function openToolCall(database: Database, now: number, fence: Fence, call: CodeToolCall): number {
  const run = fencedStep(database, fence, call.stepKey);
  const last = database.get(
    "SELECT max(call_index) AS n FROM tool_calls WHERE step_no = ? AND turn_index = 0",
    call.stepKey,
  );
  const callIndex = (last?.optionalInt("n") ?? 0) + 1;
  const request = canonicalJson(call.request);
  const row = { ...call, callIndex, turnIndex: CODE_STEP_TURN, request };
  insertToolCall(database, run, now, row);
  const { facts } = writeCheckpoint(database, run, now, row, call.checkpoint);
  recordEvent(database, run, now, call.status === "running" ? "calls.started" : "calls.prepared", {
    step: stepHead(database, run, call.stepKey).path,
    turn: CODE_STEP_TURN,
    calls: [callIndex],
    digest: toolCallDigest(row, request),
    ...facts,
  });
  return callIndex;
}

export function endToolCallAttempt(
  database: Database,
  now: number,
  fence: Fence,
  end: ToolCallAttemptEnd,
): void {
  const run = fencedStep(database, fence, end.stepKey);
  const callNo = callNoAt(database, run, end);
  if (hasReceipt(database, callNo)) throw settledMeanwhile(callNo);
  insertEndedAttempt(database, run, now, callNo, end);
  database.run(
    "UPDATE tool_calls SET status = ?, ends_by = CASE WHEN ? THEN ? ELSE ends_by END WHERE call_no = ?",
    end.inDoubt ? "in_doubt" : "running",
    Number(end.hasEnded),
    now,
    callNo,
  );
  coverRow(run, "call", callNo);
  recordEvent(database, run, now, end.inDoubt ? "call.in_doubt" : "call.tried", {
    step: stepHead(database, run, end.stepKey).path,
    turn: end.turnIndex,
    call: end.callIndex,
    attempt: end.attempt,
    outcome: end.outcome,
    ...(end.errorCode === null ? {} : { code: end.errorCode }),
    try: callAttemptDigest(database, run, callNo, end.attempt),
  });
}

/** Inserts the attempt with its outcome. Only the running attempt of a call can end. */
function insertEndedAttempt(
  database: Database,
  run: RunHead,
  now: number,
  callNo: number,
  end: ToolCallAttemptEnd,
): void {
  const inserted = database.run(
    `INSERT INTO tool_call_tries
       SELECT ?, call_no, attempt, started_at, ?, ?, ?, ?, ?, NULL, NULL, NULL
         FROM tool_calls WHERE call_no = ? AND attempt = ? AND status = 'running'`,
    run.runNo,
    now,
    end.outcome,
    end.errorCode,
    end.errorDetail,
    end.correlationId,
    callNo,
    end.attempt,
  );
  if (inserted !== 1)
    throw new Error(`Attempt ${end.attempt} of call ${end.turnIndex}.${end.callIndex} is not running.`);
}

export function recordReceipt(database: Database, now: number, fence: Fence, record: ReceiptRecord): void {
  const { stepKey, turnIndex, receipt } = record;
  const run = fencedStep(database, fence, stepKey);
  const digest = writeAnyReceipt(database, run, now, record, receipt);
  const step = stepHead(database, run, stepKey).path;
  recordEvent(database, run, now, "call.receipt", receiptFacts(step, turnIndex, receipt, digest));
}

export function offerLateReceipt(database: Database, now: number, late: LateReceipt): "settled" | "kept" {
  const { runId, stepKey, turnIndex, attempt } = late;
  const run = requireRun(database, runId);
  const step = stepHead(database, run, stepKey).path;
  const { callIndex } = late.receipt;
  const callNo = callNoAt(database, run, { stepKey, turnIndex, callIndex });
  const call = database.get("SELECT status, attempt FROM tool_calls WHERE call_no = ?", callNo);
  const isOpen = call?.text("status") === "in_doubt" && call.int("attempt") === attempt;
  if (isOpen && !hasReceipt(database, callNo)) {
    const receipt: NewReceipt = { ...late.receipt, source: "late" };
    const wasAsked = withdrawWaits(database, run, now, callNo);
    const digest = writeAnyReceipt(database, run, now, late, receipt);
    if (wasAsked) queueIfAnswered(database, run, now);
    saveRun(database, run, now, "call.receipt", receiptFacts(step, turnIndex, receipt, digest));
    return "settled";
  }
  storeLateOutcome(database, run, now, callNo, late);
  const { status } = late.receipt;
  saveRun(database, run, now, "call.late", { step, turn: turnIndex, call: callIndex, attempt, status });
  return "kept";
}

/** Stores a late outcome with its attempt. An attempt that brought the receipt itself has nothing to add. */
function storeLateOutcome(
  database: Database,
  run: RunHead,
  now: number,
  callNo: number,
  { attempt, receipt }: LateReceipt,
): void {
  if (receipt.blob !== null) putBlob(database, run.runNo, now, receipt.blob);
  const kept = database.run(
    `UPDATE tool_call_tries SET late_at = ?, late_status = ?, late_output = ?
      WHERE run_no = ? AND call_no = ? AND attempt = ? AND late_at IS NULL`,
    now,
    receipt.status,
    JSON.stringify(receipt.output),
    run.runNo,
    callNo,
    attempt,
  );
  if (kept !== 1) throw settledMeanwhile(callNo);
  coverRow(run, "late", run.runNo, callNo, attempt);
}
