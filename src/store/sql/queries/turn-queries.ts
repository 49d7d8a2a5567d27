import { outputForModel } from "../../../core/call/duplicate-note.ts";
import { isJsonObject, type Json } from "../../../core/json.ts";
import type { Lineage } from "../../../core/lineage.ts";
import type { Message, ToolOutput } from "../../../core/message.ts";
import { parseToolCallId } from "../../../core/step-path.ts";
import { type ResultLimits, shareOut, WHOLE_RESULTS } from "../../../core/usage/result-share.ts";
import { headMessages, turnMessages } from "../../history.ts";
import type {
  Conversation,
  GranularState,
  StoredResponse,
  TakenMessage,
  ToolCallRecord,
  TurnRecord,
} from "../../store.ts";
import type { Row } from "../row.ts";
import { all, exists, get, type SqlScript } from "../script.ts";
import { RECEIPT_STATUSES } from "../stored-words.ts";
import type { RunKey } from "../table-list.ts";
import { granularStateRow, UNPINNED } from "../tables/granular-state.ts";
import { findRun, parseJson, requireRunKey } from "../tables/run-row.ts";
import { CODE_STEP_TURN, callNoOfId } from "../tables/tool-call-rows.ts";
import { CALLS, toolCallRecord, withRequest } from "./call-records.ts";
import { TAKEN_COUNT, takenMessages } from "./exchange-queries.ts";
import { callRanges, newestTurns, type ReadRun } from "./turn-pages.ts";

/** The conversation of a step whose first turn was not opened yet. */
const NO_TURNS: Conversation = {
  turnIndex: 0,
  isComplete: false,
  fingerprint: null,
  lineages: [],
  summary: null,
  isInputRefused: false,
  messages: 0,
  tokens: 0,
  tail: [],
  journaled: null,
  taken: [],
};

/** How often the provider refused a request without files before the first turn was committed. */
const INPUT_REFUSALS = `(SELECT count(*) FROM exchanges WHERE exchanges.run_key = granular_states.run_key
    AND exchanges.step_no = granular_states.step_no AND exchanges.first_turn = 1
    AND last_turn IS NULL AND refused_texts = 1) AS input_refusals`;

/** The state of a step, with the document of its fingerprint. */
const STATE = `SELECT granular_states.*, document, summary, ${INPUT_REFUSALS},
      (SELECT count(*) FROM messages WHERE messages.run_key = granular_states.run_key
          AND taken_step = granular_states.step_no AND taken_turn = granular_states.turn_index + 1) AS taken
    FROM granular_states LEFT JOIN fingerprints USING (run_key, step_no, lineage)
    LEFT JOIN lineages USING (run_key, step_no, lineage)
   WHERE run_key = ? AND step_no = ?`;

export function* readConversation(
  { runId, stepKey }: { readonly runId: string; readonly stepKey: number },
  tailTokens: number,
  limits: ResultLimits = WHOLE_RESULTS,
): SqlScript<Conversation> {
  const run = { key: yield* requireRunKey(runId), runId };
  const row = yield* get(STATE, run.key, stepKey);
  if (row === null) return NO_TURNS;
  const { turnIndex, isComplete, messages, tokens, lineage, firstTurn, fingerprint } = granularStateRow(row);
  const next = { stepNo: stepKey, first: turnIndex + 1, last: turnIndex + 1 };
  const [journaled] = yield* newestTurns(run, next, 1);
  const committed = { stepNo: stepKey, first: firstTurn, last: turnIndex };
  return {
    turnIndex,
    isComplete,
    fingerprint: UNPINNED.equals(fingerprint)
      ? null
      : { hash: row.hex("fingerprint"), document: parseJson(row.optionalText("document")) },
    lineages: lineage === 0 ? [] : yield* readLineages(run.key, stepKey),
    summary: row.optionalText("summary"),
    isInputRefused: row.int("input_refusals") > 0,
    messages,
    tokens,
    tail: yield* readTail(run, committed, tailTokens, limits),
    journaled: journaled ?? null,
    taken: row.int("taken") === 0 ? [] : yield* takenBy(run.key, stepKey, turnIndex + 1),
  };
}

/** The messages that one turn has taken. */
function* takenBy(key: RunKey, stepKey: number, turnIndex: number): SqlScript<readonly TakenMessage[]> {
  return (yield* takenMessages(key, stepKey, turnIndex, turnIndex)).get(turnIndex) ?? [];
}

function* readLineages(key: RunKey, stepKey: number): SqlScript<Lineage[]> {
  const rows = yield* all(
    `SELECT first_turn, base_turn FROM lineages
      WHERE run_key = ? AND step_no = ? AND summary IS NULL ORDER BY lineage`,
    key,
    stepKey,
  );
  return rows.map((row) => ({ firstTurn: row.int("first_turn"), baseTurn: row.int("base_turn") }));
}

/** Most tails fit into the first page; a long one takes few of the others. */
const FIRST_PAGE = 16;
const NEXT_PAGES = 64;

/**
 * Reads backwards from the last commit, until the budget is used up: the cost does not depend on the length of the
 * run.
 */
function* readTail(
  run: ReadRun,
  { stepNo, first, last }: { readonly stepNo: number; readonly first: number; readonly last: number },
  tailTokens: number,
  limits: ResultLimits,
): SqlScript<TurnRecord[]> {
  const newestFirst: TurnRecord[] = [];
  let tokens = 0;
  let before = last;
  while (before >= first) {
    const size = newestFirst.length === 0 ? FIRST_PAGE : NEXT_PAGES;
    const page = yield* newestTurns(run, { stepNo, first, last: before }, size);
    for (const turn of page) {
      const results = turn.calls.map((call) => call.receipt?.tokens ?? 0);
      tokens += shareOut(results, limits).reduce((sum, share) => sum + share, turn.tokens);
      newestFirst.push(turn);
      if (tokens > tailTokens) return newestFirst.reverse();
    }
    if (page.length < size) break;
    before = (page.at(-1)?.turnIndex ?? first) - 1;
  }
  return newestFirst.reverse();
}

/** The key of a run, in queries that find nothing if there is no such run. */
const BY_RUN_ID = "run_key = (SELECT run_key FROM runs WHERE run_id = ?)";

const CODE_STEP_CALLS = `${CALLS} WHERE ${BY_RUN_ID} AND step_no = ? AND turn_index = 0 ORDER BY call_index`;
const CALL_BY_KEY = `${CALLS} WHERE ${BY_RUN_ID} AND idempotency_key = ?`;
const CALL_BY_NUMBER = `${CALLS} WHERE run_key = ? AND call_no = ?`;
const HAS_KEY = `SELECT 1 AS found FROM tool_calls WHERE ${BY_RUN_ID} AND idempotency_key = ?`;
const RESPONSE = `SELECT response FROM turns WHERE ${BY_RUN_ID} AND step_no = ? AND turn_index = ?`;

export function* listCodeStepCalls(runId: string, stepKey: number): SqlScript<ToolCallRecord[]> {
  const rows = yield* all(CODE_STEP_CALLS, runId, stepKey);
  return rows.map((row) => toolCallRecord(runId, row));
}

export function* hasUncertainCalls(runId: string): SqlScript<boolean> {
  const key = yield* requireRunKey(runId);
  return yield* exists("SELECT 1 AS found FROM uncertain_calls WHERE run_key = ? LIMIT 1", key);
}

export function* findUncertainCall(
  runId: string,
  identityHash: Uint8Array,
): SqlScript<ToolCallRecord | null> {
  const key = yield* requireRunKey(runId);
  const newest = yield* get(
    `SELECT call_no FROM uncertain_calls WHERE run_key = ? AND identity_hash = ? ORDER BY call_no DESC LIMIT 1`,
    key,
    identityHash,
  );
  return newest === null ? null : yield* callOfNumber({ key, runId }, newest.int("call_no"));
}

export function* findToolCall(runId: string, idempotencyKey: Uint8Array): SqlScript<ToolCallRecord | null> {
  const row = yield* get(CALL_BY_KEY, runId, idempotencyKey);
  return row === null ? null : yield* wholeCall(runId, row);
}

export function* getToolCall(id: string): SqlScript<ToolCallRecord | null> {
  const place = parseToolCallId(id);
  const run = place === null ? null : yield* findRun(place.runId);
  if (run === null) return null;
  const callNo = yield* callNoOfId(run, id);
  return callNo === null ? null : yield* callOfNumber(run, callNo);
}

function* callOfNumber({ key, runId }: ReadRun, callNo: number): SqlScript<ToolCallRecord | null> {
  const row = yield* get(CALL_BY_NUMBER, key, callNo);
  return row === null ? null : yield* wholeCall(runId, row);
}

function* wholeCall(runId: string, row: Row): SqlScript<ToolCallRecord> {
  const call = toolCallRecord(runId, row);
  if (call.turnIndex === CODE_STEP_TURN) return call;
  const turn = yield* get(RESPONSE, runId, row.int("step_no"), call.turnIndex);
  return turn === null ? call : withRequest(call, JSON.parse(turn.text("response")) as StoredResponse);
}

export function hasToolCall(runId: string, idempotencyKey: Uint8Array): SqlScript<boolean> {
  return exists(HAS_KEY, runId, idempotencyKey);
}

/** A granular step by its path, or by its name; the newest instance if there are several. */
function findGranularStep(key: RunKey, stepName: string): SqlScript<Row | null> {
  return get(
    `SELECT step_no, output, document, summary, granular_states.first_turn, turn_index, is_complete, fingerprint,
        ${INPUT_REFUSALS}
       FROM run_steps JOIN granular_states USING (run_key, step_no)
       LEFT JOIN fingerprints USING (run_key, step_no, lineage)
       LEFT JOIN lineages USING (run_key, step_no, lineage)
      WHERE run_key = ? AND (step_path = ? OR step_name = ?)
      ORDER BY CASE WHEN step_path = ? THEN 0 ELSE 1 END, step_no DESC LIMIT 1`,
    key,
    stepName,
    stepName,
    stepName,
  );
}

export function* readHistory(runId: string, stepName: string): SqlScript<Message[]> {
  const key = yield* requireRunKey(runId);
  const step = yield* findGranularStep(key, stepName);
  return step === null ? [] : yield* historyOf(key, step);
}

export function* readGranularState(runId: string, stepName: string): SqlScript<GranularState | null> {
  const key = yield* requireRunKey(runId);
  const step = yield* findGranularStep(key, stepName);
  if (step === null) return null;
  return {
    turnIndex: step.int("turn_index"),
    history: yield* historyOf(key, step),
    isComplete: step.flag("is_complete"),
    finalOutput: parseJson(step.optionalText("output")),
    fingerprint: UNPINNED.equals(step.bytes("fingerprint")) ? "" : step.hex("fingerprint"),
  };
}

/** The first messages for the agent. A fork whose turns were not opened yet has none. */
function headOf(step: Row): Message[] {
  const document = step.optionalText("document");
  if (document === null) return [];
  const { prompt, input, switches } = parseJson(document) as { prompt: Json; input: Json; switches: Json };
  const isConversation = isJsonObject(switches) && switches.mode === "conversation";
  // The text of a template was different in every turn, and is not part of the history.
  return headMessages(typeof prompt === "string" ? prompt : "", input, {
    isConversation,
    summary: step.optionalText("summary"),
    isInputRefused: step.int("input_refusals") > 0,
  });
}

const HISTORY_PAGE = 64;

/** Only the columns that the messages need: a result is read at the end of every run. */
const TURNS_OF_HISTORY = `SELECT turn_index, response, follow_up, first_call_no, calls, ${TAKEN_COUNT} AS taken FROM turns
  WHERE run_key = ? AND step_no = ? AND turn_index BETWEEN ? AND ? ORDER BY turn_index`;
const RESULTS_OF_HISTORY =
  "SELECT call_no, status, error_code, output FROM receipts WHERE run_key = ? AND call_no BETWEEN ? AND ?";

function* historyOf(key: RunKey, step: Row): SqlScript<Message[]> {
  const [first, committed] = [step.int("first_turn"), step.int("turn_index")];
  const messages = headOf(step);
  for (let from = first; from <= committed; from += HISTORY_PAGE) {
    const to = Math.min(committed, from + HISTORY_PAGE - 1);
    const turns = yield* all(TURNS_OF_HISTORY, key, step.int("step_no"), from, to);
    const results = yield* resultsOf(key, turns);
    const taken = turns.some((turn) => turn.int("taken") > 0)
      ? yield* takenMessages(key, step.int("step_no"), from, to)
      : NOTHING_TAKEN;
    for (const turn of turns)
      messages.push(...messagesOf(turn, results, taken.get(turn.int("turn_index")) ?? []));
  }
  return messages;
}

/** What the model sees of the results of these turns, by the numbers of their calls. */
function* resultsOf(key: RunKey, turns: readonly Row[]): SqlScript<ReadonlyMap<number, ToolOutput>> {
  const results = new Map<number, ToolOutput>();
  for (const { first, last } of callRanges(turns))
    for (const row of yield* all(RESULTS_OF_HISTORY, key, first, last))
      results.set(
        row.int("call_no"),
        outputForModel({
          status: row.oneOf("status", RECEIPT_STATUSES),
          output: JSON.parse(row.text("output")) as ToolOutput,
          errorCode: row.optionalText("error_code"),
        }),
      );
  return results;
}

const NOTHING_TAKEN: ReadonlyMap<number, readonly TakenMessage[]> = new Map();

function messagesOf(
  turn: Row,
  results: ReadonlyMap<number, ToolOutput>,
  taken: readonly TakenMessage[],
): Message[] {
  const first = turn.int("first_call_no");
  return turnMessages({
    response: JSON.parse(turn.text("response")) as StoredResponse,
    outputs: Array.from({ length: turn.int("calls") }, (_, i) => results.get(first + i) ?? null),
    followUp: turn.optionalText("follow_up"),
    taken,
  });
}
