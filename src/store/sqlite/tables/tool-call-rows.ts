import { ResumeError } from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { StepPath } from "../../../core/step-path.ts";
import type { CallStart, NewReceipt, NewToolCall } from "../../store.ts";
import type { Database, Row } from "../database.ts";
import type { RunHead, TurnCallRows } from "../run-head.ts";
import { putBlob } from "./blob-rows.ts";
import { digestOf } from "./digest.ts";
import { coverRemovedRow, coverRow } from "./event-rows.ts";
import { stepHead } from "./run-row.ts";
import { TURNS_PER_STEP, turnNo } from "./turn-number.ts";

/** Code steps have no turns: their calls are stored under this index. */
export const CODE_STEP_TURN = 0;

/** Returns the number of the row: rows of one transaction have consecutive numbers. */
export function insertToolCall(
  database: Database,
  run: RunHead,
  now: number,
  call: NewToolCall & { stepKey: number; turnIndex: number; request: string | null },
): number {
  const isRunning = call.status === "running";
  const callNo = database.insert(
    "INSERT INTO tool_calls VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?)",
    call.stepKey,
    call.turnIndex,
    call.callIndex,
    now,
    isRunning ? now : null,
    isRunning ? now + call.timeoutMs : null,
    call.namespace,
    call.tool,
    call.effect,
    call.recovery,
    call.identityHash,
    call.occurrence,
    call.idempotencyKey,
    call.status,
    isRunning ? 1 : 0,
    call.request,
  );
  coverRow(run, "call", callNo);
  return callNo;
}

/** The digest of the columns of a call that never change. */
export function toolCallDigest(call: NewToolCall, request: string | null): string {
  const { namespace, tool, effect, recovery, identityHash, occurrence, idempotencyKey } = call;
  return digestOf(namespace, tool, effect, recovery, identityHash, occurrence, idempotencyKey, request);
}

export function storedToolCallDigest(row: Row): string {
  return digestOf(
    row.text("tool_namespace"),
    row.text("tool_name"),
    row.text("side_effect_class"),
    row.text("recovery"),
    row.bytes("identity_hash"),
    row.int("occurrence"),
    row.bytes("idempotency_key"),
    row.optionalText("request"),
  );
}

type LedgerCall = { readonly callNo: number; readonly isDispatched: boolean };

/**
 * Writes the receipt of a call, once, and only if the state machine allows it: a call that was never dispatched
 * neither succeeds nor fails, and a dispatched one is neither a duplicate nor cancelled. Returns its digest.
 */
function writeReceipt(
  database: Database,
  run: RunHead,
  now: number,
  call: LedgerCall,
  receipt: NewReceipt,
): string {
  const { callNo } = call;
  if (receipt.blob !== null) putBlob(database, run.runNo, now, receipt.blob);
  const { status, tokens, errorCode, uncertain, source, correlationId, duplicateOf } = receipt;
  const events = receipt.sessionEvents ?? [];
  const values = [
    callNo,
    status,
    now,
    tokens,
    errorCode,
    Number(uncertain),
    source,
    correlationId,
    duplicateOf,
    receipt.blob === null ? null : Buffer.from(receipt.blob.blobId, "hex"),
    receipt.blob === null ? null : receipt.blob.bytes.byteLength,
    JSON.stringify(receipt.output),
    events.length === 0 ? null : JSON.stringify(events),
  ];
  assertMayEndAs(database, call, status);
  const changed = database.run(
    "INSERT OR IGNORE INTO receipts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    ...values,
  );
  if (changed !== 1) throw settledMeanwhile(callNo);
  withdrawWaits(database, run, now, callNo);
  if (uncertain) rememberUncertain(database, run, callNo);
  else if (status === "succeeded") forgetUncertain(database, run, callNo);
  return receiptDigest(values);
}

function assertMayEndAs(
  database: Database,
  { callNo, isDispatched }: LedgerCall,
  status: NewReceipt["status"],
): void {
  if (isDispatched === (status === "succeeded" || status === "failed")) return;
  if (hasReceipt(database, callNo)) throw settledMeanwhile(callNo);
  throw new Error(
    `Call ${callNo} cannot be ${status}: it was ${isDispatched ? "dispatched" : "never dispatched"}.`,
  );
}

/** Most receipts have no session events, and the oldest ones had no column for them. */
function receiptDigest(values: readonly (string | number | Uint8Array | null)[]): string {
  return digestOf(...(values.at(-1) === null ? values.slice(0, -1) : values));
}

function rememberUncertain(database: Database, run: RunHead, callNo: number): void {
  database.run(
    "INSERT INTO uncertain_calls SELECT ?, identity_hash, call_no FROM tool_calls WHERE call_no = ?",
    run.runNo,
    callNo,
  );
  run.hasUncertainCalls = true;
  coverRow(run, "doubt", run.runNo, callNo);
}

/** The effect has succeeded now, with a person's consent: earlier uncertain calls no longer block it. */
function forgetUncertain(database: Database, run: RunHead, callNo: number): void {
  run.hasUncertainCalls ??=
    database.get("SELECT 1 AS found FROM uncertain_calls WHERE run_no = ? LIMIT 1", run.runNo) !== null;
  if (!run.hasUncertainCalls) return;
  const same = `FROM uncertain_calls
      WHERE run_no = ? AND identity_hash = (SELECT identity_hash FROM tool_calls WHERE call_no = ?)`;
  for (const doubt of database.all(`SELECT call_no ${same}`, run.runNo, callNo))
    coverRemovedRow(database, run, "doubt", run.runNo, doubt.int("call_no"));
  database.run(`DELETE ${same}`, run.runNo, callNo);
}

/**
 * Withdraws the open waits about a call that is settled, or all waits of the run (null). True if any was open. Most
 * runs never open a wait, so that is looked up once.
 */
export function withdrawWaits(database: Database, run: RunHead, now: number, callNo: number | null): boolean {
  run.hasOpenWaits ??=
    database.get("SELECT 1 AS found FROM waits WHERE run_no = ? AND status = 'open' LIMIT 1", run.runNo) !==
    null;
  if (!run.hasOpenWaits) return false;
  const withdrawn = database.all(
    `UPDATE waits SET status = 'withdrawn', answered_at = ?
      WHERE run_no = ? AND status = 'open' AND (? IS NULL OR call_no = ?) RETURNING wait_index`,
    now,
    run.runNo,
    callNo,
    callNo,
  );
  for (const wait of withdrawn) coverRow(run, "question", run.runNo, wait.int("wait_index"));
  return withdrawn.length > 0;
}

export function storedReceiptDigest(row: Row): string {
  return receiptDigest([
    row.int("call_no"),
    row.text("status"),
    row.int("created_at"),
    row.int("tokens"),
    row.optionalText("error_code"),
    row.int("uncertain"),
    row.text("source"),
    row.optionalText("external_correlation_id"),
    row.optionalText("duplicate_of"),
    row.optionalBytes("blob_hash"),
    row.optionalInt("blob_size"),
    row.text("output"),
    row.optionalText("session_events"),
  ]);
}

export function writeTurnReceipt(
  database: Database,
  run: RunHead,
  now: number,
  turn: TurnCallRows,
  receipt: NewReceipt,
): string {
  const callNo = callNoOf(turn, receipt.callIndex);
  const isDispatched = turn.dispatched[receipt.callIndex - 1] === true;
  const digest = writeReceipt(database, run, now, { callNo, isDispatched }, receipt);
  turn.receipts += 1;
  return digest;
}

/** Writes the receipt of any call, of a turn or of a code step. */
export function writeAnyReceipt(
  database: Database,
  run: RunHead,
  now: number,
  place: { readonly stepKey: number; readonly turnIndex: number },
  receipt: NewReceipt,
): string {
  const { stepKey, turnIndex } = place;
  const turn = turnIndex === CODE_STEP_TURN ? null : turnCalls(database, run, stepKey, turnIndex);
  if (turn !== null) return writeTurnReceipt(database, run, now, turn, receipt);
  const callNo = codeCallNo(database, stepKey, turnIndex, receipt.callIndex);
  const row = database.get("SELECT status FROM tool_calls WHERE call_no = ?", callNo);
  const isDispatched = row?.text("status") !== "prepared";
  return writeReceipt(database, run, now, { callNo, isDispatched }, receipt);
}

/** The facts of an event about a single receipt. */
export function receiptFacts(
  step: StepPath,
  turnIndex: number,
  { callIndex, status, source }: { callIndex: number; status: string; source: string },
  digest: string,
): JsonObject {
  return { step, turn: turnIndex, call: callIndex, status, source, digest };
}

/** The digest of an attempt that brought no receipt, without its late outcome. */
export function callAttemptDigest(database: Database, run: RunHead, callNo: number, attempt: number): string {
  const row = database.get(
    "SELECT * FROM tool_call_tries WHERE run_no = ? AND call_no = ? AND attempt = ?",
    run.runNo,
    callNo,
    attempt,
  );
  if (row === null) throw new Error(`Attempt ${attempt} of call ${callNo} is not stored.`);
  return storedCallAttemptDigest(row);
}

export function storedCallAttemptDigest(row: Row): string {
  return digestOf(
    row.int("call_no"),
    row.int("attempt"),
    row.int("started_at"),
    row.int("ended_at"),
    row.text("outcome"),
    row.optionalText("error_code"),
    row.optionalText("error_detail"),
    row.optionalText("external_correlation_id"),
  );
}

export function hasReceipt(database: Database, callNo: number): boolean {
  return database.get("SELECT 1 AS found FROM receipts WHERE call_no = ?", callNo) !== null;
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
export function turnCalls(
  database: Database,
  run: RunHead,
  stepKey: number,
  turnIndex: number,
): TurnCallRows | null {
  const step = stepHead(database, run, stepKey);
  if (step.calls?.turnIndex === turnIndex) return step.calls;
  const turn = database.get(
    `SELECT first_call_no, calls, (SELECT count(*) FROM receipts
                                    WHERE call_no >= first_call_no AND call_no < first_call_no + calls) AS receipts
       FROM turns WHERE turn_no = ?`,
    turnNo(stepKey, turnIndex),
  );
  if (turn === null) return null;
  const [firstCallNo, calls] = [turn.int("first_call_no"), turn.int("calls")];
  const rows = database.all(
    "SELECT status FROM tool_calls WHERE call_no >= ? AND call_no < ? ORDER BY call_no",
    firstCallNo,
    firstCallNo + calls,
  );
  const dispatched = rows.map((row) => row.text("status") !== "prepared");
  step.calls = { turnIndex, firstCallNo, calls, receipts: turn.int("receipts"), dispatched };
  return step.calls;
}

/** The number of a call's row. */
export function callNoAt(
  database: Database,
  run: RunHead,
  { stepKey, turnIndex, callIndex }: { stepKey: number; turnIndex: number; callIndex: number },
): number {
  const turn = turnIndex === CODE_STEP_TURN ? null : turnCalls(database, run, stepKey, turnIndex);
  return turn === null ? codeCallNo(database, stepKey, turnIndex, callIndex) : callNoOf(turn, callIndex);
}

function callNoOf({ turnIndex, firstCallNo, calls }: TurnCallRows, callIndex: number): number {
  if (Number.isInteger(callIndex) && callIndex >= 1 && callIndex <= calls) return firstCallNo + callIndex - 1;
  throw new Error(`Turn ${turnIndex} has ${calls} calls and no call ${callIndex}.`);
}

/** The number of a call's row; null if the ledger has no such call. */
export function findCallNo(
  database: Database,
  run: RunHead,
  { stepKey, turnIndex, callIndex }: { stepKey: number; turnIndex: number; callIndex: number },
): number | null {
  if (turnIndex === CODE_STEP_TURN) return findCodeCall(database, stepKey, callIndex);
  if (turnIndex >= TURNS_PER_STEP) return null;
  const turn = turnCalls(database, run, stepKey, turnIndex);
  return turn === null || callIndex > turn.calls ? null : callNoOf(turn, callIndex);
}

function findCodeCall(database: Database, stepKey: number, callIndex: number): number | null {
  const call = database.get(
    "SELECT call_no FROM tool_calls WHERE step_no = ? AND turn_index = 0 AND call_index = ?",
    stepKey,
    callIndex,
  );
  return call === null ? null : call.int("call_no");
}

function codeCallNo(database: Database, stepKey: number, turnIndex: number, callIndex: number): number {
  const callNo = turnIndex === CODE_STEP_TURN ? findCodeCall(database, stepKey, callIndex) : null;
  if (callNo !== null) return callNo;
  throw new Error(`There is no call ${turnIndex}.${callIndex} in the ledger of step ${stepKey}.`);
}

/** Starts one more attempt. A running attempt has to end first, or be in doubt. */
export function startToolCall(
  database: Database,
  run: RunHead,
  now: number,
  place: { readonly stepKey: number; readonly turnIndex: number },
  start: CallStart,
): void {
  const callNo = callNoAt(database, run, { ...place, callIndex: start.callIndex });
  assertApproved(database, run, callNo, start.approvedArguments);
  const changed = database.run(
    `UPDATE tool_calls SET status = 'running', attempt = attempt + 1, started_at = ?, ends_by = ?
      WHERE call_no = ? AND NOT EXISTS (SELECT 1 FROM receipts WHERE receipts.call_no = tool_calls.call_no)
        AND (status <> 'running' OR EXISTS (SELECT 1 FROM tool_call_tries AS tries WHERE tries.run_no = ?
              AND tries.call_no = tool_calls.call_no AND tries.attempt = tool_calls.attempt))`,
    now,
    now + start.timeoutMs,
    callNo,
    run.runNo,
  );
  const turn = run.steps.get(place.stepKey)?.calls;
  coverRow(run, "call", callNo);
  if (changed === 1 && turn?.turnIndex === place.turnIndex) turn.dispatched[start.callIndex - 1] = true;
  if (changed === 1) return;
  throw hasReceipt(database, callNo)
    ? settledMeanwhile(callNo)
    : new Error(`Call ${place.turnIndex}.${start.callIndex} is running: it cannot be started again.`);
}

/** An approval is for one call and one set of arguments; it covers all attempts of that call and nothing else. */
function assertApproved(
  database: Database,
  run: RunHead,
  callNo: number,
  approvedArguments: string | null,
): void {
  const wait = database.get(
    `SELECT arguments_hash, status, answer FROM waits
      WHERE run_no = ? AND call_no = ? AND kind IN ('approval', 'possible_duplicate') ORDER BY wait_index DESC LIMIT 1`,
    run.runNo,
    callNo,
  );
  if (wait === null && approvedArguments === null) return;
  const isApproved =
    wait?.text("status") === "answered" && wait.optionalText("answer") === '{"approved":true}';
  if (isApproved && wait.hex("arguments_hash") === approvedArguments) return;
  throw new Error(`Call ${callNo} is not started: it was not approved with these arguments.`);
}
