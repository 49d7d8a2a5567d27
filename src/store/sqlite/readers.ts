import type { Json } from "../../core/json.ts";
import type { Message, ToolOutput } from "../../core/message.ts";
import { toolCallId } from "../../core/step-path.ts";
import type { SideEffectClass, ToolCallStatus } from "../../core/tool-call-decision.ts";
import { headMessages, turnMessages } from "../history.ts";
import type {
  Conversation,
  EventRecord,
  GranularState,
  ModelCallRecord,
  Receipt,
  RunFilter,
  RunRecord,
  RunUsage,
  StoredResponse,
  ToolCallRecord,
  TurnRecord,
} from "../store.ts";
import type { Database, Row } from "./database.ts";
import { openModelCalls, settledModelCalls } from "./model-calls.ts";
import { amount, parseJson, RUN_COLUMNS, requireRunNo, runRecord } from "./run-row.ts";
import { listSteps } from "./step-intents.ts";

const MAX_LISTED = 1_000;

export function listRuns(database: Database, filter: RunFilter): RunRecord[] {
  return database
    .all(
      `SELECT ${RUN_COLUMNS} FROM runs WHERE (? IS NULL OR status = ?) AND (? IS NULL OR pipeline = ?)
        ORDER BY run_no DESC LIMIT ?`,
      filter.status ?? null,
      filter.status ?? null,
      filter.pipeline ?? null,
      filter.pipeline ?? null,
      Math.min(filter.limit ?? MAX_LISTED, MAX_LISTED),
    )
    .map(runRecord);
}

export function runningRuns(database: Database, pipeline: string, inputHash: Uint8Array): RunRecord[] {
  return database
    .all(
      `SELECT ${RUN_COLUMNS} FROM runs WHERE pipeline = ? AND input_hash = ? AND status = 'running' ORDER BY run_no DESC`,
      pipeline,
      inputHash,
    )
    .map(runRecord);
}

export function readRunInput(database: Database, runId: string): { input: Json; shape: Json } {
  const row = database.get(
    "SELECT input, shape FROM run_inputs WHERE run_no = ?",
    requireRunNo(database, runId),
  );
  return { input: parseJson(row?.text("input") ?? null), shape: parseJson(row?.text("shape") ?? null) };
}

export function readUsage(database: Database, runId: string): RunUsage {
  const runNo = requireRunNo(database, runId);
  const row = database.get(
    `SELECT coalesce(sum(input_tokens), 0) AS input, coalesce(sum(output_tokens), 0) AS output,
            coalesce(sum(cached_input_tokens), 0) AS cached, coalesce(sum(reasoning_tokens), 0) AS reasoning,
            coalesce(sum(basis <> 'none'), 0) AS calls
       FROM model_calls WHERE step_no IN (SELECT step_no FROM run_steps WHERE run_no = ?)`,
    runNo,
  );
  const run = database.get("SELECT charged_tokens, charged_micro_dollars FROM runs WHERE run_no = ?", runNo);
  if (row === null || run === null) throw new Error(`Run ${runId} has no usage row.`);
  return {
    inputTokens: row.int("input"),
    outputTokens: row.int("output"),
    cachedInputTokens: row.int("cached"),
    reasoningTokens: row.int("reasoning"),
    charged: amount(run, "charged"),
    modelCalls: row.int("calls"),
  };
}

export function readConversation(database: Database, stepKey: number, tailTokens: number): Conversation {
  const state = database.get("SELECT * FROM granular_states WHERE step_no = ?", stepKey);
  if (state === null)
    return {
      turnIndex: 0,
      isComplete: false,
      fingerprint: null,
      messages: 0,
      tokens: 0,
      tail: [],
      journaled: null,
    };
  const turnIndex = state.int("turn_index");
  const document = database.get("SELECT document FROM fingerprints WHERE step_no = ?", stepKey);
  const journaled = database.get(
    `${TURNS} WHERE turns.step_no = ? AND turns.turn_index = ?`,
    stepKey,
    turnIndex + 1,
  );
  return {
    turnIndex,
    isComplete: state.int("is_complete") === 1,
    fingerprint: { hash: state.hex("fingerprint"), document: parseJson(document?.text("document") ?? null) },
    messages: state.int("messages"),
    tokens: state.int("tokens"),
    tail: readTail(database, stepKey, turnIndex, tailTokens),
    journaled: journaled === null ? null : turnRecord(database, journaled),
  };
}

/** Backwards from the last commit, until the budget is used up: the cost does not depend on how long the run is. */
function readTail(database: Database, stepKey: number, last: number, tailTokens: number): TurnRecord[] {
  const tail: TurnRecord[] = [];
  let tokens = 0;
  const rows = database.iterate(
    `${TURNS} WHERE turns.step_no = ? AND turns.turn_index <= ? ORDER BY turns.turn_index DESC`,
    stepKey,
    last,
  );
  for (const row of rows) {
    const turn = turnRecord(database, row);
    tokens += turn.tokens + turn.calls.reduce((sum, call) => sum + (call.receipt?.tokens ?? 0), 0);
    tail.unshift(turn);
    if (tokens > tailTokens) break;
  }
  return tail;
}

const TURNS = `
  SELECT turns.*, step_path, run_id,
         turns.turn_index <= (SELECT g.turn_index FROM granular_states g WHERE g.step_no = turns.step_no) AS committed
    FROM turns JOIN run_steps USING (step_no) JOIN runs USING (run_no)`;

const CALLS = `
  SELECT tool_calls.*, step_path, run_id, receipts.created_at AS receipt_at, receipts.tokens,
         receipts.status AS receipt_status, receipts.error_code AS receipt_error,
         blob_hash, blob_size, receipts.output AS receipt_output
    FROM tool_calls JOIN run_steps USING (step_no) JOIN runs USING (run_no) LEFT JOIN receipts USING (call_no)`;

export function listTurns(database: Database, runId: string): TurnRecord[] {
  return database
    .all(`${TURNS} WHERE run_no = ? ORDER BY step_index, turns.turn_index`, requireRunNo(database, runId))
    .map((row) => turnRecord(database, row));
}

/** Step by step, in the order they were asked for. */
export function listToolCalls(database: Database, runId: string): ToolCallRecord[] {
  const ofCode = database.all(
    `${CALLS} WHERE run_no = ? AND turn_index = 0 ORDER BY step_index, call_index`,
    requireRunNo(database, runId),
  );
  const calls = [...listTurns(database, runId).flatMap((turn) => turn.calls), ...ofCode.map(toolCallRecord)];
  const order = new Map(listSteps(database, runId).map((step) => [step.path, step.stepIndex]));
  return calls.sort((a, b) => (order.get(a.stepPath) ?? 0) - (order.get(b.stepPath) ?? 0));
}

export function findToolCall(database: Database, idempotencyKey: Uint8Array): ToolCallRecord | null {
  const row = database.get(`${CALLS} WHERE idempotency_key = ?`, idempotencyKey);
  return row === null ? null : toolCallRecord(row);
}

export function hasToolCall(database: Database, idempotencyKey: Uint8Array): boolean {
  return database.get("SELECT 1 AS found FROM tool_calls WHERE idempotency_key = ?", idempotencyKey) !== null;
}

export function listModelCalls(database: Database, runId: string): ModelCallRecord[] {
  const runNo = requireRunNo(database, runId);
  return [
    ...settledModelCalls(database, runNo),
    ...openModelCalls(database, runNo).map(({ record }) => record),
  ];
}

export function listEvents(database: Database, runId: string, after: number, limit: number): EventRecord[] {
  return database
    .all(
      "SELECT seq, created_at, type, data, hash FROM events WHERE run_no = ? AND seq > ? ORDER BY seq LIMIT ?",
      requireRunNo(database, runId),
      after,
      limit,
    )
    .map((row) => ({
      seq: row.int("seq"),
      at: row.int("created_at"),
      type: row.text("type"),
      data: parseJson(row.text("data")),
      hash: row.hex("hash"),
    }));
}

/** A granular step by its path, or by its name where that is enough; the newest instance when there are several. */
function findGranularStep(database: Database, runId: string, stepName: string): Row | null {
  return database.get(
    `SELECT step_no, step_path, input, output, status, document FROM run_steps
       JOIN fingerprints USING (step_no)
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

function historyOf(database: Database, step: Row): Message[] {
  const { prompt, input } = parseJson(step.text("document")) as { prompt: string; input: Json };
  const turns = database
    .all(`${TURNS} WHERE turns.step_no = ? ORDER BY turns.turn_index`, step.int("step_no"))
    .map((row) => turnRecord(database, row))
    .filter((turn) => turn.committed);
  return [...headMessages(prompt, input), ...turns.flatMap(turnMessages)];
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
    fingerprint: state.hex("fingerprint"),
  };
}

function turnRecord(database: Database, row: Row): TurnRecord {
  const turnIndex = row.int("turn_index");
  const first = row.int("first_call_no");
  const calls = database.all(
    `${CALLS} WHERE call_no >= ? AND call_no < ? ORDER BY call_no`,
    first,
    first + row.int("calls"),
  );
  return {
    stepPath: row.text("step_path"),
    turnIndex,
    response: JSON.parse(row.text("response")) as StoredResponse,
    tokens: row.int("tokens"),
    followUp: row.optionalText("follow_up"),
    calls: calls.map(toolCallRecord),
    committed: row.int("committed") === 1,
    at: row.int("created_at"),
  };
}

function toolCallRecord(row: Row): ToolCallRecord {
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
    occurrence: row.int("occurrence"),
    idempotencyKey: row.hex("idempotency_key"),
    status: (row.optionalText("receipt_status") ?? row.text("status")) as ToolCallStatus,
    attempt: row.int("attempt"),
    request: parseJson(row.optionalText("request")),
    receipt: receiptOf(row),
    createdAt: row.int("created_at"),
    startedAt: row.optionalInt("started_at"),
  };
}

function receiptOf(row: Row): Receipt | null {
  const output = row.optionalText("receipt_output");
  if (output === null) return null;
  const hash = row.optionalBytes("blob_hash");
  return {
    status: row.text("receipt_status") === "succeeded" ? "succeeded" : "failed",
    output: JSON.parse(output) as ToolOutput,
    blob: hash === null ? null : { blobId: Buffer.from(hash).toString("hex"), size: row.int("blob_size") },
    tokens: row.int("tokens"),
    errorCode: row.optionalText("receipt_error"),
    at: row.int("receipt_at"),
  };
}
