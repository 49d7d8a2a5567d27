import { ResumeError } from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/json.ts";
import { parseToolCallId, type StepPath } from "../../../core/step-path.ts";
import type { CallStart, NewReceipt, NewToolCall } from "../../store.ts";
import type { RunHead, TurnCallRows } from "../run-head.ts";
import { all, exists, get, type SqlScript } from "../script.ts";
import { CALL_STATES } from "../stored-words.ts";
import type { RunKey } from "../table-list.ts";
import { changeRow, insertRow, removeRow, type Transaction } from "../transaction.ts";
import { putBlob } from "./blob-rows.ts";
import { stepHead } from "./run-row.ts";

/** Code steps have no turns: their calls are stored under this index. */
export const CODE_STEP_TURN = 0;

/** Returns the number of the row: calls are numbered in the order in which they are inserted. */
export function insertToolCall(
  tx: Transaction,
  run: RunHead,
  call: NewToolCall & { stepKey: number; turnIndex: number; request: string | null },
): number {
  const isRunning = call.status === "running";
  run.counts.calls += 1;
  insertRow(tx, run, "tool_calls", {
    call_no: run.counts.calls,
    step_no: call.stepKey,
    turn_index: call.turnIndex,
    call_index: call.callIndex,
    created_at: tx.now,
    tool_namespace: call.namespace,
    tool_name: call.tool,
    side_effect_class: call.effect,
    recovery: call.recovery,
    identity_hash: call.identityHash,
    occurrence: call.occurrence,
    idempotency_key: call.idempotencyKey,
    request: call.request,
    status: call.status,
    attempt: isRunning ? 1 : 0,
    started_at: isRunning ? tx.now : null,
    ends_by: isRunning ? tx.now + call.timeoutMs : null,
    superseded: null,
  });
  return run.counts.calls;
}

type LedgerCall = { readonly callNo: number; readonly isDispatched: boolean; readonly hasReceipt: boolean };

/**
 * Writes the receipt of a call, once, and only if the state machine allows it: a call that was never dispatched
 * neither succeeds nor fails, and a dispatched one is neither a duplicate nor cancelled.
 */
function* writeReceipt(
  tx: Transaction,
  run: RunHead,
  call: LedgerCall,
  receipt: NewReceipt,
): SqlScript<void> {
  const { callNo, isDispatched } = call;
  const { status, uncertain, blob } = receipt;
  if (call.hasReceipt) throw settledMeanwhile(callNo);
  if (isDispatched !== (status === "succeeded" || status === "failed"))
    throw new Error(
      `Call ${callNo} cannot be ${status}: it was ${isDispatched ? "dispatched" : "never dispatched"}.`,
    );
  if (blob !== null) putBlob(tx, run, blob);
  const events = receipt.sessionEvents ?? [];
  insertRow(tx, run, "receipts", {
    call_no: callNo,
    status,
    created_at: tx.now,
    tokens: receipt.tokens,
    error_code: receipt.errorCode,
    uncertain: Number(uncertain),
    source: receipt.source,
    external_correlation_id: receipt.correlationId,
    duplicate_of: receipt.duplicateOf,
    blob_hash: blob === null ? null : Buffer.from(blob.blobId, "hex"),
    blob_size: blob === null ? null : blob.bytes.byteLength,
    output: JSON.stringify(receipt.output),
    session_events: events.length === 0 ? null : JSON.stringify(events),
  });
  yield* withdrawWaits(tx, run, callNo);
  if (uncertain) yield* rememberUncertain(tx, run, callNo);
  else if (status === "succeeded") yield* forgetUncertain(tx, run, callNo);
}

function* rememberUncertain(tx: Transaction, run: RunHead, callNo: number): SqlScript<void> {
  const identity = yield* identityHash(run, callNo);
  insertRow(tx, run, "uncertain_calls", { identity_hash: identity, call_no: callNo });
  run.hasUncertainCalls = true;
}

/** The effect has succeeded now, with a person's consent: earlier uncertain calls no longer block it. */
function* forgetUncertain(tx: Transaction, run: RunHead, callNo: number): SqlScript<void> {
  run.hasUncertainCalls ??= yield* exists(
    "SELECT 1 AS found FROM uncertain_calls WHERE run_key = ? LIMIT 1",
    run.key,
  );
  if (!run.hasUncertainCalls) return;
  const identity = yield* identityHash(run, callNo);
  const same = yield* all(
    "SELECT call_no FROM uncertain_calls WHERE run_key = ? AND identity_hash = ?",
    run.key,
    identity,
  );
  for (const row of same)
    removeRow(tx, run, "uncertain_calls", { identity_hash: identity, call_no: row.int("call_no") });
}

function* identityHash(run: RunHead, callNo: number): SqlScript<Uint8Array> {
  const row = yield* get(
    "SELECT identity_hash FROM tool_calls WHERE run_key = ? AND call_no = ?",
    run.key,
    callNo,
  );
  if (row === null) throw new Error(`Run ${run.runId} has no call ${callNo}.`);
  return row.bytes("identity_hash");
}

/**
 * Withdraws the open waits about a call that is settled, or all waits of the run (null). True if any was open. Most
 * runs never open a wait, so that is looked up once.
 */
export function* withdrawWaits(tx: Transaction, run: RunHead, callNo: number | null): SqlScript<boolean> {
  run.hasOpenWaits ??= yield* exists(
    "SELECT 1 AS found FROM waits WHERE run_key = ? AND status = 'open' LIMIT 1",
    run.key,
  );
  if (!run.hasOpenWaits) return false;
  const open = yield* all(
    "SELECT wait_index, call_no, answered_by, answer FROM waits WHERE run_key = ? AND status = 'open'",
    run.key,
  );
  const withdrawn = open.filter((wait) => callNo === null || wait.optionalInt("call_no") === callNo);
  for (const wait of withdrawn)
    changeRow(
      tx,
      run,
      "waits",
      { wait_index: wait.int("wait_index") },
      {
        status: "withdrawn",
        answered_at: tx.now,
        answered_by: wait.optionalText("answered_by"),
        answer: wait.optionalText("answer"),
      },
    );
  return withdrawn.length > 0;
}

export function* writeTurnReceipt(
  tx: Transaction,
  run: RunHead,
  turn: TurnCallRows,
  receipt: NewReceipt,
): SqlScript<void> {
  const callNo = callNoOf(turn, receipt.callIndex);
  const isDispatched = turn.dispatched[receipt.callIndex - 1] === true;
  const hasOne = turn.receipts.has(callNo);
  yield* writeReceipt(tx, run, { callNo, isDispatched, hasReceipt: hasOne }, receipt);
  turn.receipts.add(callNo);
}

/** Writes the receipt of any call, of a turn or of a code step. */
export function* writeAnyReceipt(
  tx: Transaction,
  run: RunHead,
  place: { readonly stepKey: number; readonly turnIndex: number },
  receipt: NewReceipt,
): SqlScript<void> {
  const { stepKey, turnIndex } = place;
  const turn = turnIndex === CODE_STEP_TURN ? null : yield* turnCalls(run, stepKey, turnIndex);
  if (turn !== null) return yield* writeTurnReceipt(tx, run, turn, receipt);
  const callNo = yield* codeCallNo(run, { ...place, callIndex: receipt.callIndex });
  const call = yield* ledgerCall(run, callNo);
  return yield* writeReceipt(
    tx,
    run,
    { callNo, isDispatched: call.status !== "prepared", hasReceipt: call.hasReceipt },
    receipt,
  );
}

/** The facts of an event about a single receipt. */
export function receiptFacts(
  step: StepPath,
  turnIndex: number,
  { callIndex, status, source }: { callIndex: number; status: string; source: string },
): JsonObject {
  return { step, turn: turnIndex, call: callIndex, status, source };
}

export function hasReceipt(key: RunKey, callNo: number): SqlScript<boolean> {
  return exists("SELECT 1 AS found FROM receipts WHERE run_key = ? AND call_no = ?", key, callNo);
}

/** A person or a late receipt was faster: the caller has to reload the call. */
export function settledMeanwhile(callNo: number): ResumeError {
  return new ResumeError(
    `Call ${callNo} has its receipt already: nothing was written; reload and continue.`,
    {
      irrecoverable: false,
      changes: [],
    },
  );
}

/** The calls of a journaled turn; null if the turn is not journaled. */
export function* turnCalls(run: RunHead, stepKey: number, turnIndex: number): SqlScript<TurnCallRows | null> {
  const step = yield* stepHead(run, stepKey);
  if (step.calls?.turnIndex === turnIndex) return step.calls;
  const turn = yield* get(
    "SELECT first_call_no, calls FROM turns WHERE run_key = ? AND step_no = ? AND turn_index = ?",
    run.key,
    stepKey,
    turnIndex,
  );
  if (turn === null) return null;
  const [firstCallNo, calls] = [turn.int("first_call_no"), turn.int("calls")];
  const rows = yield* all(
    `SELECT call_no, tool_calls.status, receipts.status AS receipt FROM tool_calls
       LEFT JOIN receipts USING (run_key, call_no)
      WHERE run_key = ? AND call_no >= ? AND call_no < ? ORDER BY call_no`,
    run.key,
    firstCallNo,
    firstCallNo + calls,
  );
  const settled = rows.filter((row) => row.optionalText("receipt") !== null);
  step.calls = {
    turnIndex,
    firstCallNo,
    calls,
    receipts: new Set(settled.map((row) => row.int("call_no"))),
    dispatched: rows.map((row) => row.text("status") !== "prepared"),
  };
  return step.calls;
}

/** A call's position: its step, its turn (0 for a code step), and its number there. */
type CallPosition = { readonly stepKey: number; readonly turnIndex: number; readonly callIndex: number };

/** The number of a call's row. */
export function* callNoAt(run: RunHead, call: CallPosition): SqlScript<number> {
  const { stepKey, turnIndex, callIndex } = call;
  const turn = turnIndex === CODE_STEP_TURN ? null : yield* turnCalls(run, stepKey, turnIndex);
  return turn === null ? yield* codeCallNo(run, call) : callNoOf(turn, callIndex);
}

function callNoOf({ turnIndex, firstCallNo, calls }: TurnCallRows, callIndex: number): number {
  if (Number.isInteger(callIndex) && callIndex >= 1 && callIndex <= calls) return firstCallNo + callIndex - 1;
  throw new Error(`Turn ${turnIndex} has ${calls} calls and no call ${callIndex}.`);
}

/** The number of a call's row; null if the ledger has no such call. */
export function* findCallNo(run: RunHead, call: CallPosition): SqlScript<number | null> {
  const { stepKey, turnIndex, callIndex } = call;
  if (turnIndex === CODE_STEP_TURN) return yield* findCodeCall(run, stepKey, callIndex);
  const turn = yield* turnCalls(run, stepKey, turnIndex);
  return turn === null || callIndex > turn.calls ? null : callNoOf(turn, callIndex);
}

/** The number of a call's row by its id; null if the run has no such call. */
export function* callNoOfId(run: RunHead, toolCallId: string): SqlScript<number | null> {
  const place = parseToolCallId(toolCallId);
  if (place === null || place.runId !== run.runId) return null;
  const step = yield* get(
    "SELECT step_no FROM run_steps WHERE run_key = ? AND step_path = ?",
    run.key,
    place.path,
  );
  return step === null ? null : yield* findCallNo(run, { ...place, stepKey: step.int("step_no") });
}

function* findCodeCall(run: RunHead, stepKey: number, callIndex: number): SqlScript<number | null> {
  const call = yield* get(
    "SELECT call_no FROM tool_calls WHERE run_key = ? AND step_no = ? AND turn_index = 0 AND call_index = ?",
    run.key,
    stepKey,
    callIndex,
  );
  return call === null ? null : call.int("call_no");
}

function* codeCallNo(run: RunHead, { stepKey, turnIndex, callIndex }: CallPosition): SqlScript<number> {
  const callNo = turnIndex === CODE_STEP_TURN ? yield* findCodeCall(run, stepKey, callIndex) : null;
  if (callNo !== null) return callNo;
  throw new Error(`There is no call ${turnIndex}.${callIndex} in the ledger of step ${stepKey}.`);
}

/** The state of a call's row, with whether it has a receipt, and whether its last attempt has ended on record. */
export function* ledgerCall(run: RunHead, callNo: number) {
  const row = yield* get(
    `SELECT tool_calls.status, attempt, tool_calls.started_at, ends_by, receipts.call_no AS receipt, ended_at
       FROM tool_calls LEFT JOIN receipts USING (run_key, call_no)
       LEFT JOIN tool_call_attempts USING (run_key, call_no, attempt)
      WHERE run_key = ? AND call_no = ?`,
    run.key,
    callNo,
  );
  if (row === null) throw new Error(`Run ${run.runId} has no call ${callNo}.`);
  return {
    status: row.oneOf("status", CALL_STATES),
    attempt: row.int("attempt"),
    startedAt: row.optionalInt("started_at"),
    endsBy: row.optionalInt("ends_by"),
    hasReceipt: row.optionalInt("receipt") !== null,
    hasEnded: row.optionalInt("ended_at") !== null,
  };
}

export type CallState = {
  readonly status: "prepared" | "running" | "in_doubt";
  readonly attempt: number;
  readonly startedAt: number | null;
  readonly endsBy: number | null;
};

/** Writes the state of a call that has no receipt. */
export function saveCallState(tx: Transaction, run: RunHead, callNo: number, state: CallState): void {
  const { status, attempt, startedAt, endsBy } = state;
  const columns = { status, attempt, started_at: startedAt, ends_by: endsBy };
  changeRow(tx, run, "tool_calls", { call_no: callNo }, columns);
}

/** Starts one more attempt. A running attempt has to end first, or be in doubt. */
export function* startToolCall(
  tx: Transaction,
  run: RunHead,
  place: { readonly stepKey: number; readonly turnIndex: number },
  start: CallStart,
): SqlScript<void> {
  const callNo = yield* callNoAt(run, { ...place, callIndex: start.callIndex });
  yield* assertApproved(run, callNo, start.approvedArguments);
  const call = yield* ledgerCall(run, callNo);
  if (call.hasReceipt) throw settledMeanwhile(callNo);
  if (call.status === "running" && !call.hasEnded)
    throw new Error(`Call ${place.turnIndex}.${start.callIndex} is running: it cannot be started again.`);
  saveCallState(tx, run, callNo, {
    status: "running",
    attempt: call.attempt + 1,
    startedAt: tx.now,
    endsBy: tx.now + start.timeoutMs,
  });
  const turn = run.steps.get(place.stepKey)?.calls;
  if (turn?.turnIndex === place.turnIndex) turn.dispatched[start.callIndex - 1] = true;
}

/** An approval is for one call and one set of arguments; it covers all attempts of that call and nothing else. */
function* assertApproved(run: RunHead, callNo: number, approvedArguments: string | null): SqlScript<void> {
  const wait = yield* get(
    `SELECT arguments_hash, status, answer FROM waits
      WHERE run_key = ? AND call_no = ? AND kind IN ('approval', 'possible_duplicate')
      ORDER BY wait_index DESC LIMIT 1`,
    run.key,
    callNo,
  );
  if (wait === null && approvedArguments === null) return;
  const isApproved =
    wait?.text("status") === "answered" && wait.optionalText("answer") === '{"approved":true}';
  if (isApproved && wait.hex("arguments_hash") === approvedArguments) return;
  throw new Error(`Call ${callNo} is not started: it was not approved with these arguments.`);
}
