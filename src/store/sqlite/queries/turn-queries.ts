import { outputForModel } from "../../../core/call/duplicate-note.ts";
import type {
  ReceiptStatus,
  RecoveryClass,
  SideEffectClass,
  ToolCallStatus,
} from "../../../core/call/tool-call-decision.ts";
import type { Json } from "../../../core/json.ts";
import type { Lineage } from "../../../core/lineage.ts";
import { ledgerCallsOf, type Message, type ToolOutput } from "../../../core/message.ts";
import type { SessionEvent } from "../../../core/session-event.ts";
import { parseToolCallId, toolCallId } from "../../../core/step-path.ts";
import { type ResultLimits, shareOut, WHOLE_RESULTS } from "../../../core/usage/result-share.ts";
import { headMessages, turnMessages } from "../../history.ts";
import type {
  Conversation,
  GranularState,
  Receipt,
  ReceiptSource,
  StoredResponse,
  ToolCallRecord,
  TurnRecord,
} from "../../store.ts";
import type { Database, Row } from "../database.ts";
import { UNPINNED } from "../tables/granular-state.ts";
import { findRun, parseJson, requireRunNo } from "../tables/run-row.ts";
import { callNoOfId } from "../tables/session-rows.ts";
import { CODE_STEP_TURN } from "../tables/tool-call-rows.ts";
import { turnNo } from "../tables/turn-number.ts";

/** The conversation of a step whose first turn was not opened yet. */
const NO_TURNS: Conversation = {
  turnIndex: 0,
  isComplete: false,
  fingerprint: null,
  lineages: [],
  messages: 0,
  tokens: 0,
  tail: [],
  journaled: null,
};

export function readConversation(
  database: Database,
  stepKey: number,
  tailTokens: number,
  limits: ResultLimits = WHOLE_RESULTS,
): Conversation {
  const state = database.get("SELECT * FROM granular_states WHERE step_no = ?", stepKey);
  if (state === null) return NO_TURNS;
  const turnIndex = state.int("turn_index");
  const lineage = state.int("lineage");
  const document = database.get(
    "SELECT document FROM fingerprints WHERE step_no = ? AND lineage = ?",
    stepKey,
    lineage,
  );
  const journaled = database.get(`${TURNS} WHERE turn_no = ?`, turnNo(stepKey, turnIndex + 1));
  return {
    turnIndex,
    isComplete: state.int("is_complete") === 1,
    fingerprint: UNPINNED.equals(state.bytes("fingerprint"))
      ? null
      : { hash: state.hex("fingerprint"), document: parseJson(document?.text("document") ?? null) },
    lineages: lineage === 0 ? [] : readLineages(database, stepKey),
    messages: state.int("messages"),
    tokens: state.int("tokens"),
    tail: readTail(
      database,
      { stepKey, first: state.int("first_turn"), last: turnIndex },
      tailTokens,
      limits,
    ),
    journaled: journaled === null ? null : turnRecord(journaled, callsOfTurn(database, journaled)),
  };
}

function readLineages(database: Database, stepKey: number): Lineage[] {
  return database
    .all("SELECT first_turn, base_turn FROM lineages WHERE step_no = ? ORDER BY lineage", stepKey)
    .map((row) => ({ firstTurn: row.int("first_turn"), baseTurn: row.int("base_turn") }));
}

/**
 * Reads backwards from the last commit, until the budget is used up: the cost does not depend on the length of the
 * run.
 */
function readTail(
  database: Database,
  { stepKey, first, last }: { readonly stepKey: number; readonly first: number; readonly last: number },
  tailTokens: number,
  limits: ResultLimits,
): TurnRecord[] {
  if (last < first) return [];
  const tail: TurnRecord[] = [];
  let tokens = 0;
  const rows = database.iterate(
    `${TURNS} WHERE turn_no BETWEEN ? AND ? ORDER BY turn_no DESC`,
    turnNo(stepKey, first),
    turnNo(stepKey, last),
  );
  for (const row of rows) {
    const turn = turnRecord(row, callsOfTurn(database, row));
    const results = turn.calls.map((call) => call.receipt?.tokens ?? 0);
    tokens += shareOut(results, limits).reduce((sum, share) => sum + share, turn.tokens);
    tail.unshift(turn);
    if (tokens > tailTokens) break;
  }
  return tail;
}

/** A turn that was open when a new lineage began was never committed. */
const COMMITTED = `
  turns.turn_index <= (SELECT g.turn_index FROM granular_states g WHERE g.step_no = turns.step_no)
  AND NOT EXISTS (SELECT 1 FROM lineages l WHERE l.step_no = turns.step_no AND l.open_turn = turns.turn_index) AS committed`;

export const TURNS = `
  SELECT turns.*, step_path, run_id, ${COMMITTED}
    FROM turns JOIN run_steps USING (step_no) JOIN runs USING (run_no)`;

const CALL_COLUMNS = `tool_calls.*, step_path, run_id, receipts.created_at AS receipt_at, receipts.tokens,
  receipts.status AS receipt_status, receipts.error_code AS receipt_error, blob_hash, blob_size,
  uncertain, source, external_correlation_id, duplicate_of, session_events, receipts.output AS receipt_output`;

export const CALLS = `
  SELECT ${CALL_COLUMNS}
    FROM tool_calls JOIN run_steps USING (step_no) JOIN runs USING (run_no) LEFT JOIN receipts USING (call_no)`;

export function listCodeStepCalls(database: Database, stepKey: number): ToolCallRecord[] {
  return database
    .all(`${CALLS} WHERE tool_calls.step_no = ? AND turn_index = 0 ORDER BY call_index`, stepKey)
    .map(toolCallRecord);
}

export function hasUncertainCalls(database: Database, runId: string): boolean {
  const runNo = requireRunNo(database, runId);
  return database.get("SELECT 1 AS found FROM uncertain_calls WHERE run_no = ? LIMIT 1", runNo) !== null;
}

export function findUncertainCall(
  database: Database,
  runId: string,
  identityHash: Uint8Array,
): ToolCallRecord | null {
  const row = database.get(
    `SELECT idempotency_key FROM uncertain_calls JOIN tool_calls USING (call_no)
      WHERE run_no = ? AND uncertain_calls.identity_hash = ? ORDER BY call_no DESC LIMIT 1`,
    requireRunNo(database, runId),
    identityHash,
  );
  return row === null ? null : findToolCall(database, row.bytes("idempotency_key"));
}

export function findToolCall(database: Database, idempotencyKey: Uint8Array): ToolCallRecord | null {
  return wholeCall(database, database.get(`${CALLS} WHERE idempotency_key = ?`, idempotencyKey));
}

export function getToolCall(database: Database, id: string): ToolCallRecord | null {
  const place = parseToolCallId(id);
  const run = place === null ? null : findRun(database, place.runId);
  const callNo = run === null ? null : callNoOfId(database, run, id);
  return callNo === null ? null : wholeCall(database, database.get(`${CALLS} WHERE call_no = ?`, callNo));
}

function wholeCall(database: Database, row: Row | null): ToolCallRecord | null {
  if (row === null) return null;
  const call = toolCallRecord(row);
  if (call.turnIndex === CODE_STEP_TURN) return call;
  const turn = database.get(
    "SELECT response FROM turns WHERE turn_no = ?",
    turnNo(row.int("step_no"), call.turnIndex),
  );
  return turn === null ? call : withRequest(call, JSON.parse(turn.text("response")) as StoredResponse);
}

/** The arguments of a turn's call are in its response, and nowhere else. */
function withRequest(call: ToolCallRecord, { content }: StoredResponse): ToolCallRecord {
  return { ...call, request: ledgerCallsOf(content)[call.callIndex - 1]?.input ?? null };
}

export function hasToolCall(database: Database, idempotencyKey: Uint8Array): boolean {
  return database.get("SELECT 1 AS found FROM tool_calls WHERE idempotency_key = ?", idempotencyKey) !== null;
}

/** A granular step by its path, or by its name; the newest instance if there are several. */
function findGranularStep(database: Database, runId: string, stepName: string): Row | null {
  return database.get(
    `SELECT step_no, step_path, input, output, run_steps.status, document, first_turn, turn_index FROM run_steps
       JOIN granular_states USING (step_no) LEFT JOIN fingerprints USING (step_no, lineage)
      WHERE run_no = ? AND (step_path = ? OR step_name = ?)
      ORDER BY step_path = ? DESC, step_index DESC LIMIT 1`,
    requireRunNo(database, runId),
    stepName,
    stepName,
    stepName,
  );
}

export function readHistory(database: Database, runId: string, stepName: string): Message[] {
  const step = findGranularStep(database, runId, stepName);
  return step === null ? [] : historyOf(database, step);
}

/** The first messages for the agent. A fork whose turns were not opened yet has none. */
function headOf(document: string | null): Message[] {
  if (document === null) return [];
  const { prompt, input } = parseJson(document) as { prompt: Json; input: Json };
  // The text of a template was different in every turn, and is not part of the history.
  return headMessages(typeof prompt === "string" ? prompt : "", input);
}

/** One query, with only the columns that the messages need: a result is read at the end of every run. */
function historyOf(database: Database, step: Row): Message[] {
  const stepNo = step.int("step_no");
  const [first, committed] = [step.int("first_turn"), step.int("turn_index")];
  const messages = headOf(step.optionalText("document"));
  if (committed < first) return messages;
  const rows = database.iterate(
    `SELECT turn_no, response, follow_up, calls, output, receipts.status, error_code
       FROM turns LEFT JOIN receipts ON call_no BETWEEN first_call_no AND first_call_no + calls - 1
      WHERE turn_no BETWEEN ? AND ? ORDER BY turn_no, call_no`,
    turnNo(stepNo, first),
    turnNo(stepNo, committed),
  );
  const outputs: ToolOutput[] = [];
  for (const row of rows) {
    const output = row.optionalText("output");
    if (output !== null)
      outputs.push(
        outputForModel({
          status: row.text("status") as ReceiptStatus,
          output: JSON.parse(output) as ToolOutput,
          errorCode: row.optionalText("error_code"),
        }),
      );
    if (outputs.length < row.int("calls")) continue;
    const response = JSON.parse(row.text("response")) as StoredResponse;
    messages.push(
      ...turnMessages({ response, outputs: outputs.splice(0), followUp: row.optionalText("follow_up") }),
    );
  }
  return messages;
}

export function readGranularState(database: Database, runId: string, stepName: string): GranularState | null {
  const step = findGranularStep(database, runId, stepName);
  if (step === null) return null;
  const state = database.get("SELECT * FROM granular_states WHERE step_no = ?", step.int("step_no"));
  if (state === null) return null;
  return {
    turnIndex: state.int("turn_index"),
    history: historyOf(database, step),
    isComplete: state.int("is_complete") === 1,
    finalOutput: parseJson(step.optionalText("output")),
    fingerprint: UNPINNED.equals(state.bytes("fingerprint")) ? "" : state.hex("fingerprint"),
  };
}

export function callsOfTurn(database: Database, turn: Row): ToolCallRecord[] {
  const first = turn.int("first_call_no");
  return database
    .all(`${CALLS} WHERE call_no BETWEEN ? AND ? ORDER BY call_no`, first, first + turn.int("calls") - 1)
    .map(toolCallRecord);
}

export function turnRecord(row: Row, calls: readonly ToolCallRecord[]): TurnRecord {
  const response = JSON.parse(row.text("response")) as StoredResponse;
  return {
    stepPath: row.text("step_path"),
    turnIndex: row.int("turn_index"),
    response,
    tokens: row.int("tokens"),
    followUp: row.optionalText("follow_up"),
    calls: calls.map((call) => withRequest(call, response)),
    committed: row.int("committed") === 1,
    at: row.int("settled_at"),
  };
}

export function toolCallRecord(row: Row): ToolCallRecord {
  const [runId, stepPath] = [row.text("run_id"), row.text("step_path")];
  const [turnIndex, callIndex] = [row.int("turn_index"), row.int("call_index")];
  return {
    toolCallId: toolCallId(runId, stepPath, turnIndex, callIndex),
    stepPath,
    turnIndex,
    callIndex,
    namespace: row.text("tool_namespace"),
    tool: row.text("tool_name"),
    effect: row.text("side_effect_class") as SideEffectClass,
    recovery: row.text("recovery") as RecoveryClass,
    identityHash: row.hex("identity_hash"),
    occurrence: row.int("occurrence"),
    idempotencyKey: row.hex("idempotency_key"),
    status: (row.optionalText("receipt_status") ?? row.text("status")) as ToolCallStatus,
    attempt: row.int("attempt"),
    isSuperseded: row.int("superseded") === 1,
    request: parseJson(row.optionalText("request")),
    receipt: receiptOf(row),
    createdAt: row.int("created_at"),
    startedAt: row.optionalInt("started_at"),
    endsBy: row.optionalInt("ends_by"),
  };
}

function receiptOf(row: Row): Receipt | null {
  const output = row.optionalText("receipt_output");
  if (output === null) return null;
  const hash = row.optionalBytes("blob_hash");
  return {
    status: row.text("receipt_status") as ReceiptStatus,
    output: JSON.parse(output) as ToolOutput,
    blob: hash === null ? null : { blobId: Buffer.from(hash).toString("hex"), size: row.int("blob_size") },
    tokens: row.int("tokens"),
    errorCode: row.optionalText("receipt_error"),
    uncertain: row.int("uncertain") === 1,
    source: row.text("source") as ReceiptSource,
    correlationId: row.optionalText("external_correlation_id"),
    duplicateOf: row.optionalText("duplicate_of"),
    sessionEvents: JSON.parse(row.optionalText("session_events") ?? "[]") as readonly SessionEvent[],
    at: row.int("receipt_at"),
  };
}
