import { canonicalJson } from "../../core/canonical-json.ts";
import type { CodeToolCall, Fence, NewReceipt, NewToolCall, ReceiptRecord, ToolCallStart } from "../store.ts";
import { putBlob } from "./blob-intents.ts";
import type { Database } from "./database.ts";
import { fencedRun, type RunRow, saveRun } from "./run-row.ts";

/** Code steps have no turns: their calls are kept under this index. */
export const CODE_STEP_TURN = 0;

export function startToolCalls(database: Database, now: number, fence: Fence, start: ToolCallStart): void {
  const run = fencedRun(database, fence);
  for (const callIndex of start.callIndexes)
    startToolCall(database, now, start.stepKey, start.turnIndex, callIndex);
  saveRun(database, run, now, "calls.started", { turn: start.turnIndex, calls: [...start.callIndexes] });
}

export function openToolCall(database: Database, now: number, fence: Fence, call: CodeToolCall): number {
  const run = fencedRun(database, fence);
  const last = database.get(
    "SELECT max(call_index) AS n FROM tool_calls WHERE step_no = ? AND turn_index = ?",
    call.stepKey,
    CODE_STEP_TURN,
  );
  const callIndex = (last?.optionalInt("n") ?? 0) + 1;
  insertToolCall(database, now, {
    ...call,
    callIndex,
    status: "running",
    turnIndex: CODE_STEP_TURN,
    request: canonicalJson(call.request),
  });
  saveRun(database, run, now, "calls.started", { turn: CODE_STEP_TURN, calls: [callIndex] });
  return callIndex;
}

export function recordReceipt(database: Database, now: number, fence: Fence, record: ReceiptRecord): void {
  const run = fencedRun(database, fence);
  const { stepKey, turnIndex, receipt, start } = record;
  writeReceipt(database, run, now, stepKey, turnIndex, receipt);
  for (const callIndex of start) startToolCall(database, now, stepKey, turnIndex, callIndex);
  saveRun(database, run, now, "call.receipt", {
    turn: turnIndex,
    call: receipt.callIndex,
    status: receipt.status,
    ...(start.length === 0 ? {} : { started: [...start] }),
  });
}

export function insertToolCall(
  database: Database,
  now: number,
  call: NewToolCall & { stepKey: number; turnIndex: number; request: string | null },
): void {
  database.run(
    `INSERT INTO tool_calls (step_no, turn_index, call_index, created_at, updated_at, tool_namespace, tool_name,
                             side_effect_class, identity_hash, occurrence, idempotency_key, status, attempt, request)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    call.stepKey,
    call.turnIndex,
    call.callIndex,
    now,
    now,
    call.namespace,
    call.tool,
    call.effect,
    call.identityHash,
    call.occurrence,
    call.idempotencyKey,
    call.status,
    call.status === "running" ? 1 : 0,
    call.request,
  );
}

/** The receipt of a call, once: a call that has one, or was never started, stops the intent. */
export function writeReceipt(
  database: Database,
  run: RunRow,
  now: number,
  stepKey: number,
  turnIndex: number,
  receipt: NewReceipt,
): void {
  const call = database.get(
    "SELECT call_no FROM tool_calls WHERE step_no = ? AND turn_index = ? AND call_index = ? AND status IN ('prepared', 'running')",
    stepKey,
    turnIndex,
    receipt.callIndex,
  );
  if (call === null)
    throw new Error(`Call ${turnIndex}.${receipt.callIndex} is not under way: a receipt is written once.`);
  const callNo = call.int("call_no");
  database.run(
    "UPDATE tool_calls SET status = ?, updated_at = ? WHERE call_no = ?",
    receipt.status,
    now,
    callNo,
  );
  if (receipt.blob !== null) putBlob(database, run.runNo, now, receipt.blob);
  database.run(
    "INSERT INTO receipts VALUES (?, ?, ?, ?, ?, ?, ?)",
    callNo,
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
  const changed = database.run(
    `UPDATE tool_calls SET status = 'running', attempt = attempt + 1, updated_at = ?
      WHERE step_no = ? AND turn_index = ? AND call_index = ? AND status IN ('prepared', 'running')`,
    now,
    stepKey,
    turnIndex,
    callIndex,
  );
  if (changed !== 1)
    throw new Error(`Call ${turnIndex}.${callIndex} has a receipt already: it is not started again.`);
}
