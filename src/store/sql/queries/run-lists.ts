import type { ToolOutput } from "../../../core/message.ts";
import type { StepPath } from "../../../core/step-path.ts";
import { toolCallId } from "../../../core/step-path.ts";
import type {
  ModelCallRange,
  ModelCallRecord,
  ToolCallAttempt,
  ToolCallAttemptRange,
  ToolCallRange,
  ToolCallRecord,
  TurnRange,
  TurnRecord,
} from "../../store.ts";
import type { Row } from "../row.ts";
import { all, get, type SqlScript } from "../script.ts";
import { ATTEMPT_OUTCOMES, RECEIPT_STATUSES } from "../stored-words.ts";
import type { RunKey } from "../table-list.ts";
import { missingRun } from "../tables/missing-run.ts";
import { openModelCalls, settledModelCalls } from "../tables/model-calls.ts";
import { findRun, requireRunKey } from "../tables/run-row.ts";
import { CODE_STEP_TURN, callNoOfId } from "../tables/tool-call-rows.ts";
import { CALLS, toolCallRecord } from "./call-records.ts";
import { callingTurnsAfter, type ReadRun, type TurnPlace, turnsAfter } from "./turn-pages.ts";

// Lists that grow with a run. Each part is found by its position, so that its cost depends on its size and not on what
// comes before it.

const ALL = Number.MAX_SAFE_INTEGER;
const PAGE = 128;

/** Before the first step, and behind the last turn of a step. */
const NO_STEP = 0;
const LAST_TURN = 2 ** 31 - 1;

/** The number of a step; `NO_STEP` for the beginning of the list, null if the run has no such step. */
function* stepNoOf(key: RunKey, path: StepPath | undefined): SqlScript<number | null> {
  if (path === undefined) return NO_STEP;
  const step = yield* get("SELECT step_no FROM run_steps WHERE run_key = ? AND step_path = ?", key, path);
  return step === null ? null : step.int("step_no");
}

export function* listTurns(runId: string, { after, limit = ALL }: TurnRange = {}): SqlScript<TurnRecord[]> {
  const run = { key: yield* requireRunKey(runId), runId };
  const stepNo = yield* stepNoOf(run.key, after?.stepPath);
  if (stepNo === null) return [];
  const turns: TurnRecord[] = [];
  let last: TurnPlace = { stepNo, turnIndex: after?.turnIndex ?? 0 };
  while (turns.length < limit) {
    const size = Math.min(PAGE, limit - turns.length);
    const page = yield* turnsAfter(run, last, size);
    turns.push(...page.map(({ turn }) => turn));
    last = page.at(-1) ?? last;
    if (page.length < size) break;
  }
  return turns;
}

type PlacedCall = { readonly stepNo: number; readonly call: ToolCallRecord };

/** Step by step, in call order: those of turns, then those of code. */
export function* listToolCalls(
  runId: string,
  { after, limit = ALL }: ToolCallRange = {},
): SqlScript<ToolCallRecord[]> {
  const run = { key: yield* requireRunKey(runId), runId };
  const stepNo = yield* stepNoOf(run.key, after?.stepPath);
  if (stepNo === null) return [];
  const isOfCode = after?.turnIndex === CODE_STEP_TURN;
  const lastTurn = isOfCode ? LAST_TURN : Math.max(0, (after?.turnIndex ?? 1) - 1);
  const skipped = after === undefined || isOfCode ? null : after;
  const ofTurns = yield* turnCallsAfter(run, { stepNo, turnIndex: lastTurn }, skipped, limit);
  const ofCode = yield* codeCallsAfter(run, stepNo, isOfCode ? after.callIndex : 0, limit);
  // The order is stable: inside a step, the calls of turns stay first.
  const calls = [...ofTurns, ...ofCode].sort((a, b) => a.stepNo - b.stepNo);
  return calls.slice(0, limit).map(({ call }) => call);
}

/** At least the first `limit` calls of the turns after a given one, without those up to `skipped` in its turn. */
function* turnCallsAfter(
  run: ReadRun,
  after: TurnPlace,
  skipped: Pick<ToolCallRecord, "stepPath" | "turnIndex" | "callIndex"> | null,
  limit: number,
): SqlScript<PlacedCall[]> {
  const isWanted = ({ stepPath, turnIndex, callIndex }: ToolCallRecord) =>
    skipped === null ||
    stepPath !== skipped.stepPath ||
    turnIndex !== skipped.turnIndex ||
    callIndex > skipped.callIndex;
  const calls: PlacedCall[] = [];
  let last = after;
  while (calls.length < limit) {
    const size = Math.min(PAGE, limit - calls.length);
    const page = yield* callingTurnsAfter(run, last, size);
    for (const { stepNo, turn } of page)
      calls.push(...turn.calls.filter(isWanted).map((call) => ({ stepNo, call })));
    last = page.at(-1) ?? last;
    if (page.length < size) break;
  }
  return calls;
}

const CODE_CALLS_AFTER = `${CALLS} WHERE run_key = ? AND turn_index = 0 AND (step_no, call_index) > (?, ?)
  ORDER BY step_no, call_index LIMIT ?`;

function* codeCallsAfter(
  run: ReadRun,
  stepNo: number,
  callIndex: number,
  limit: number,
): SqlScript<PlacedCall[]> {
  const rows = yield* all(CODE_CALLS_AFTER, run.key, stepNo, callIndex, limit);
  return rows.map((row) => ({ stepNo: row.int("step_no"), call: toolCallRecord(run.runId, row) }));
}

const STEPS_WITH_TURNS = `SELECT step_no, step_path FROM granular_states JOIN run_steps USING (run_key, step_no)
  WHERE run_key = ? AND step_no >= ? ORDER BY step_no LIMIT ?`;

export function* listModelCalls(
  runId: string,
  { after, limit = ALL }: ModelCallRange = {},
): SqlScript<ModelCallRecord[]> {
  const key = yield* requireRunKey(runId);
  const first = yield* stepNoOf(key, after?.stepPath);
  if (first === null) return [];
  const open = yield* openModelCalls(key);
  const calls: ModelCallRecord[] = [];
  let steps = yield* all(STEPS_WITH_TURNS, key, first, PAGE);
  while (steps.length > 0) {
    for (const row of steps) {
      const step = { stepNo: row.int("step_no"), path: row.text("step_path") };
      const last = step.path === after?.stepPath ? after : { turnIndex: 0, attempt: 0 };
      const room = limit - calls.length;
      const settled = yield* settledModelCalls(key, step, last, room);
      const unsettled = open.filter(({ stepKey }) => stepKey === step.stepNo).map(({ record }) => record);
      const following = [...settled, ...unsettled.filter((call) => inOrder(last, call) < 0)];
      calls.push(...following.sort(inOrder).slice(0, room));
      if (calls.length >= limit) return calls;
    }
    if (steps.length < PAGE) break;
    steps = yield* all(STEPS_WITH_TURNS, key, (steps.at(-1)?.int("step_no") ?? 0) + 1, PAGE);
  }
  return calls;
}

type AttemptPosition = Pick<ModelCallRecord, "turnIndex" | "attempt">;

function inOrder(a: AttemptPosition, b: AttemptPosition): number {
  return a.turnIndex - b.turnIndex || a.attempt - b.attempt;
}

const CALL_ATTEMPTS_AFTER = `SELECT tries.*, step_path, turn_index, call_index
    FROM tool_call_attempts AS tries JOIN tool_calls USING (run_key, call_no)
    JOIN run_steps USING (run_key, step_no)
   WHERE run_key = ? AND (tries.call_no, tries.attempt) > (?, ?) ORDER BY tries.call_no, tries.attempt LIMIT ?`;

export function* listToolCallAttempts(
  runId: string,
  { after, limit = ALL }: ToolCallAttemptRange = {},
): SqlScript<ToolCallAttempt[]> {
  const run = yield* findRun(runId);
  if (run === null) throw yield* missingRun(runId);
  const callNo = after === undefined ? 0 : yield* callNoOfId(run, after.toolCallId);
  if (callNo === null) return [];
  const rows = yield* all(CALL_ATTEMPTS_AFTER, run.key, callNo, after?.attempt ?? 0, limit);
  return rows.map((row) => toolCallAttempt(runId, row));
}

function toolCallAttempt(runId: string, row: Row): ToolCallAttempt {
  const lateAt = row.optionalInt("late_at");
  return {
    toolCallId: toolCallId(runId, row.text("step_path"), row.int("turn_index"), row.int("call_index")),
    attempt: row.int("attempt"),
    startedAt: row.int("started_at"),
    endedAt: row.int("ended_at"),
    outcome: row.oneOf("outcome", ATTEMPT_OUTCOMES),
    errorCode: row.optionalText("error_code"),
    errorDetail: row.optionalText("error_detail"),
    correlationId: row.optionalText("external_correlation_id"),
    late:
      lateAt === null
        ? null
        : {
            at: lateAt,
            status: row.oneOf("late_status", RECEIPT_STATUSES),
            output: JSON.parse(row.text("late_output")) as ToolOutput,
          },
  };
}
