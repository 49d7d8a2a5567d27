import { canonicalJson } from "../../core/canonical-json.ts";
import type { CodeToolCall, Fence, NewReceipt, NewToolCall, ReceiptRecord, ToolCallStart } from "../store.ts";
import { putBlob } from "./blob-intents.ts";
import type { Database } from "./database.ts";
import { fencedRun, type RunRow, recordEvent } from "./run-row.ts";

/** Code steps have no turns: their calls are kept under this index. */
export const CODE_STEP_TURN = 0;

export function startToolCalls(database: Database, now: number, fence: Fence, start: ToolCallStart): void {
  const run = fencedRun(database, fence);
  for (const callIndex of start.callIndexes)
    startToolCall(database, now, start.stepKey, start.turnIndex, callIndex);
  recordEvent(database, run, now, "calls.started", { turn: start.turnIndex, calls: [...start.callIndexes] });
}

export function openToolCall(database: Database, now: number, fence: Fence, call: CodeToolCall): number {
  const run = fencedRun(database, fence);
  const last = database.get(
    "SELECT max(call_index) AS n FROM tool_calls WHERE step_no = ? AND turn_index = 0",
    call.stepKey,
  );
  const callIndex = (last?.optionalInt("n") ?? 0) + 1;
  insertToolCall(database, now, {
    ...call,
    callNo: nextCallNo(database),
    callIndex,
    status: "running",
    turnIndex: CODE_STEP_TURN,
    request: canonicalJson(call.request),
  });
  recordEvent(database, run, now, "calls.started", { turn: CODE_STEP_TURN, calls: [callIndex] });
  return callIndex;
}

export function recordReceipt(database: Database, now: number, fence: Fence, record: ReceiptRecord): void {
  const run = fencedRun(database, fence);
  const { stepKey, turnIndex, receipt, start } = record;
  writeReceipt(database, run, now, stepKey, turnIndex, receipt);
  for (const callIndex of start) startToolCall(database, now, stepKey, turnIndex, callIndex);
  recordEvent(database, run, now, "call.receipt", {
    turn: turnIndex,
    call: receipt.callIndex,
    status: receipt.status,
    ...(start.length === 0 ? {} : { started: [...start] }),
  });
}

/** Ledger rows are numbered without a gap, so that the calls of a turn stand one after the other. */
export function nextCallNo(database: Database): number {
  return (database.get("SELECT max(call_no) AS n FROM tool_calls")?.optionalInt("n") ?? 0) + 1;
}

export function insertToolCall(
  database: Database,
  now: number,
  call: NewToolCall & { callNo: number; stepKey: number; turnIndex: number; request: string | null },
): void {
  const isRunning = call.status === "running";
  database.run(
    "INSERT INTO tool_calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    call.callNo,
    call.stepKey,
    call.turnIndex,
    call.callIndex,
    now,
    isRunning ? now : null,
    call.namespace,
    call.tool,
    call.effect,
    call.identityHash,
    call.occurrence,
    call.idempotencyKey,
    call.status,
    isRunning ? 1 : 0,
    call.request,
  );
}

/** The receipt of a call, once: the number of the call is its key. */
export function writeReceipt(
  database: Database,
  run: RunRow,
  now: number,
  stepKey: number,
  turnIndex: number,
  receipt: NewReceipt,
): void {
  const callNo = openCallNo(database, stepKey, turnIndex, receipt.callIndex);
  if (receipt.blob !== null) putBlob(database, run.runNo, now, receipt.blob);
  database.run(
    "INSERT INTO receipts VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    callNo,
    receipt.status,
    now,
    receipt.tokens,
    receipt.errorCode,
    receipt.blob === null ? null : Buffer.from(receipt.blob.blobId, "hex"),
    receipt.blob === null ? null : receipt.blob.bytes.byteLength,
    JSON.stringify(receipt.output),
  );
}

function startToolCall(
  database: Database,
  now: number,
  stepKey: number,
  turnIndex: number,
  callIndex: number,
): void {
  database.run(
    "UPDATE tool_calls SET status = 'running', attempt = attempt + 1, started_at = ? WHERE call_no = ?",
    now,
    openCallNo(database, stepKey, turnIndex, callIndex),
  );
}

/** The ledger row of a call that has no receipt yet; one that has stops the intent. */
function openCallNo(database: Database, stepKey: number, turnIndex: number, callIndex: number): number {
  const callNo = findCallNo(database, stepKey, turnIndex, callIndex);
  if (callNo === null)
    throw new Error(`There is no call ${turnIndex}.${callIndex} in the ledger of step ${stepKey}.`);
  if (database.get("SELECT 1 AS done FROM receipts WHERE call_no = ?", callNo) === null) return callNo;
  throw new Error(
    `Call ${turnIndex}.${callIndex} has a receipt already: it is written once and never changes.`,
  );
}

function findCallNo(
  database: Database,
  stepKey: number,
  turnIndex: number,
  callIndex: number,
): number | null {
  if (turnIndex === CODE_STEP_TURN) {
    const call = database.get(
      "SELECT call_no FROM tool_calls WHERE step_no = ? AND turn_index = 0 AND call_index = ?",
      stepKey,
      callIndex,
    );
    return call?.int("call_no") ?? null;
  }
  const turn = database.get(
    "SELECT first_call_no, calls FROM turns WHERE step_no = ? AND turn_index = ?",
    stepKey,
    turnIndex,
  );
  return turn === null || callIndex > turn.int("calls") ? null : turn.int("first_call_no") + callIndex - 1;
}
