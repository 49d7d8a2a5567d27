import { canonicalJson } from "../../core/canonical-json.ts";
import type { CodeToolCall, Fence, NewReceipt, NewToolCall, ReceiptRecord, ToolCallStart } from "../store.ts";
import { putBlob } from "./blob-intents.ts";
import type { Database } from "./database.ts";
import type { RunHead, TurnCalls } from "./run-head.ts";
import { fencedStep, recordEvent } from "./run-row.ts";
import { turnNo } from "./turn-number.ts";

/** Code steps have no turns: their calls are kept under this index. */
export const CODE_STEP_TURN = 0;

export function startToolCalls(database: Database, now: number, fence: Fence, start: ToolCallStart): void {
  const run = fencedStep(database, fence, start.stepKey);
  for (const callIndex of start.callIndexes)
    startToolCall(database, run, now, start.stepKey, start.turnIndex, callIndex);
  recordEvent(database, run, now, "calls.started", { turn: start.turnIndex, calls: [...start.callIndexes] });
}

export function openToolCall(database: Database, now: number, fence: Fence, call: CodeToolCall): number {
  const run = fencedStep(database, fence, call.stepKey);
  const last = database.get(
    "SELECT max(call_index) AS n FROM tool_calls WHERE step_no = ? AND turn_index = 0",
    call.stepKey,
  );
  const callIndex = (last?.optionalInt("n") ?? 0) + 1;
  insertToolCall(database, now, {
    ...call,
    callIndex,
    status: "running",
    turnIndex: CODE_STEP_TURN,
    request: canonicalJson(call.request),
  });
  recordEvent(database, run, now, "calls.started", { turn: CODE_STEP_TURN, calls: [callIndex] });
  return callIndex;
}

export function recordReceipt(database: Database, now: number, fence: Fence, record: ReceiptRecord): void {
  const { stepKey, turnIndex, receipt, start } = record;
  const run = fencedStep(database, fence, stepKey);
  const turn = turnIndex === CODE_STEP_TURN ? null : turnCalls(database, run, stepKey, turnIndex);
  if (turn !== null) writeTurnReceipt(database, run, now, turn, receipt);
  else writeReceipt(database, run, now, codeCallNo(database, stepKey, turnIndex, receipt.callIndex), receipt);
  for (const callIndex of start) startToolCall(database, run, now, stepKey, turnIndex, callIndex);
  recordEvent(database, run, now, "call.receipt", {
    turn: turnIndex,
    call: receipt.callIndex,
    status: receipt.status,
    ...(start.length === 0 ? {} : { started: [...start] }),
  });
}

/** Gives the number of the row: rows of one transaction are numbered one after the other. */
export function insertToolCall(
  database: Database,
  now: number,
  call: NewToolCall & { stepKey: number; turnIndex: number; request: string | null },
): number {
  const isRunning = call.status === "running";
  return database.insert(
    "INSERT INTO tool_calls VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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

/** The receipt of a call, once: the number of the call is its key, and a second one is refused by it. */
function writeReceipt(
  database: Database,
  run: RunHead,
  now: number,
  callNo: number,
  receipt: NewReceipt,
): void {
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

export function writeTurnReceipt(
  database: Database,
  run: RunHead,
  now: number,
  turn: TurnCalls,
  receipt: NewReceipt,
): void {
  writeReceipt(database, run, now, callNoOf(turn, receipt.callIndex), receipt);
  turn.receipts += 1;
}

/** The calls of a journaled turn; null where it is not. */
export function turnCalls(
  database: Database,
  run: RunHead,
  stepKey: number,
  turnIndex: number,
): TurnCalls | null {
  const step = run.steps.get(stepKey);
  if (step?.calls?.turnIndex === turnIndex) return step.calls;
  const turn = database.get(
    `SELECT first_call_no, calls, (SELECT count(*) FROM receipts
                                    WHERE call_no >= first_call_no AND call_no < first_call_no + calls) AS receipts
       FROM turns WHERE turn_no = ?`,
    turnNo(stepKey, turnIndex),
  );
  if (turn === null) return null;
  const calls: TurnCalls = {
    turnIndex,
    firstCallNo: turn.int("first_call_no"),
    calls: turn.int("calls"),
    receipts: turn.int("receipts"),
  };
  run.steps.set(stepKey, { state: step?.state ?? null, calls });
  return calls;
}

function callNoOf({ turnIndex, firstCallNo, calls }: TurnCalls, callIndex: number): number {
  if (callIndex >= 1 && callIndex <= calls) return firstCallNo + callIndex - 1;
  throw new Error(`Turn ${turnIndex} has ${calls} calls and no call ${callIndex}.`);
}

function startToolCall(
  database: Database,
  run: RunHead,
  now: number,
  stepKey: number,
  turnIndex: number,
  callIndex: number,
): void {
  const turn = turnIndex === CODE_STEP_TURN ? null : turnCalls(database, run, stepKey, turnIndex);
  const changed = database.run(
    `UPDATE tool_calls SET status = 'running', attempt = attempt + 1, started_at = ?
      WHERE call_no = ? AND NOT EXISTS (SELECT 1 FROM receipts WHERE receipts.call_no = tool_calls.call_no)`,
    now,
    turn === null ? codeCallNo(database, stepKey, turnIndex, callIndex) : callNoOf(turn, callIndex),
  );
  if (changed !== 1)
    throw new Error(`Call ${turnIndex}.${callIndex} has a receipt already: it is not started again.`);
}

function codeCallNo(database: Database, stepKey: number, turnIndex: number, callIndex: number): number {
  const call = database.get(
    "SELECT call_no FROM tool_calls WHERE step_no = ? AND turn_index = 0 AND call_index = ?",
    stepKey,
    callIndex,
  );
  if (call !== null && turnIndex === CODE_STEP_TURN) return call.int("call_no");
  throw new Error(`There is no call ${turnIndex}.${callIndex} in the ledger of step ${stepKey}.`);
}
