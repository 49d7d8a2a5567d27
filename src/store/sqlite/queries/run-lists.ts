import type { FailedAttemptOutcome, ReceiptStatus } from "../../../core/call/tool-call-decision.ts";
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
import type { Database, Row } from "../database.ts";
import { openModelCalls, settledModelCalls } from "../tables/model-calls.ts";
import { findRun, requireRunNo, runNotFound } from "../tables/run-row.ts";
import { callNoOfId } from "../tables/session-rows.ts";
import { CODE_STEP_TURN } from "../tables/tool-call-rows.ts";
import { TURNS_PER_STEP } from "../tables/turn-number.ts";
import { CALLS, callsOfTurn, TURNS, toolCallRecord, turnRecord } from "./turn-queries.ts";

// Lists that grow with a run, step by step. Each part is found by its position, so that its cost depends on its size
// and not on what comes before it.

const ALL = Number.MAX_SAFE_INTEGER;

type ListedStep = { readonly stepNo: number; readonly path: StepPath };

/** The steps in the order in which they were entered, from a given one on; none if the run has no such step. */
function* stepsFrom(database: Database, runNo: number, path: StepPath | null): Generator<ListedStep> {
  const rows = database.iterate(
    `SELECT step_no, step_path FROM run_steps
      WHERE run_no = ? AND (? IS NULL OR step_index >= (SELECT step_index FROM run_steps WHERE run_no = ? AND step_path = ?))
      ORDER BY step_index`,
    runNo,
    path,
    runNo,
    path,
  );
  for (const row of rows) yield { stepNo: row.int("step_no"), path: row.text("step_path") };
}

export function listTurns(
  database: Database,
  runId: string,
  { after, limit = ALL }: TurnRange = {},
): TurnRecord[] {
  const turns: TurnRecord[] = [];
  for (const step of stepsFrom(database, requireRunNo(database, runId), after?.stepPath ?? null)) {
    const last = step.path === after?.stepPath ? after.turnIndex : 0;
    for (const turn of turnsOf(database, step, last, limit - turns.length)) turns.push(turn);
    if (turns.length >= limit) break;
  }
  return turns;
}

function* turnsOf(database: Database, step: ListedStep, after: number, limit: number): Generator<TurnRecord> {
  const first = step.stepNo * TURNS_PER_STEP;
  const rows = database.iterate(
    `${TURNS} WHERE turn_no > ? AND turn_no < ? ORDER BY turn_no LIMIT ?`,
    first + after,
    first + TURNS_PER_STEP,
    limit,
  );
  for (const row of rows) yield turnRecord(row, callsOfTurn(database, row));
}

/** Step by step, in call order: those of turns, then those of code. */
export function listToolCalls(
  database: Database,
  runId: string,
  { after, limit = ALL }: ToolCallRange = {},
): ToolCallRecord[] {
  const calls: ToolCallRecord[] = [];
  for (const step of stepsFrom(database, requireRunNo(database, runId), after?.stepPath ?? null)) {
    for (const call of callsOf(database, step, step.path === after?.stepPath ? after : null)) {
      if (calls.length >= limit) return calls;
      calls.push(call);
    }
  }
  return calls;
}

type CallPosition = { readonly turnIndex: number; readonly callIndex: number };

function* callsOf(
  database: Database,
  step: ListedStep,
  after: CallPosition | null,
): Generator<ToolCallRecord> {
  const isOfCode = after?.turnIndex === CODE_STEP_TURN;
  const turns = isOfCode ? [] : turnsOf(database, step, Math.max(0, (after?.turnIndex ?? 1) - 1), ALL);
  for (const { turnIndex, calls } of turns)
    yield* turnIndex === after?.turnIndex ? calls.slice(after.callIndex) : calls;
  const ofCode = database.iterate(
    `${CALLS} WHERE tool_calls.step_no = ? AND turn_index = 0 AND call_index > ? ORDER BY call_index`,
    step.stepNo,
    isOfCode ? after.callIndex : 0,
  );
  for (const row of ofCode) yield toolCallRecord(row);
}

export function listModelCalls(
  database: Database,
  runId: string,
  { after, limit = ALL }: ModelCallRange = {},
): ModelCallRecord[] {
  const runNo = requireRunNo(database, runId);
  const open = openModelCalls(database, runNo);
  const calls: ModelCallRecord[] = [];
  for (const step of stepsFrom(database, runNo, after?.stepPath ?? null)) {
    const last = step.path === after?.stepPath ? after : { turnIndex: 0, attempt: 0 };
    const room = limit - calls.length;
    const settled = settledModelCalls(database, step, last, room);
    const unsettled = open.filter(({ stepKey }) => stepKey === step.stepNo).map(({ record }) => record);
    const following = [...settled, ...unsettled.filter((call) => inOrder(last, call) < 0)];
    calls.push(...following.sort(inOrder).slice(0, room));
    if (calls.length >= limit) break;
  }
  return calls;
}

type AttemptPosition = Pick<ModelCallRecord, "turnIndex" | "attempt">;

function inOrder(a: AttemptPosition, b: AttemptPosition): number {
  return a.turnIndex - b.turnIndex || a.attempt - b.attempt;
}

export function listToolCallAttempts(
  database: Database,
  runId: string,
  { after, limit = ALL }: ToolCallAttemptRange = {},
): ToolCallAttempt[] {
  const run = findRun(database, runId);
  if (run === null) throw runNotFound(runId);
  const callNo = after === undefined ? 0 : callNoOfId(database, run, after.toolCallId);
  if (callNo === null) return [];
  return database
    .all(
      `SELECT tries.*, step_path, turn_index, call_index FROM tool_call_tries AS tries
         JOIN tool_calls USING (call_no) JOIN run_steps USING (step_no)
        WHERE tries.run_no = ? AND (tries.call_no, tries.attempt) > (?, ?)
        ORDER BY tries.call_no, tries.attempt LIMIT ?`,
      run.runNo,
      callNo,
      after?.attempt ?? 0,
      limit,
    )
    .map((row) => toolCallAttempt(runId, row));
}

function toolCallAttempt(runId: string, row: Row): ToolCallAttempt {
  const lateAt = row.optionalInt("late_at");
  return {
    toolCallId: toolCallId(runId, row.text("step_path"), row.int("turn_index"), row.int("call_index")),
    attempt: row.int("attempt"),
    startedAt: row.int("started_at"),
    endedAt: row.int("ended_at"),
    outcome: row.text("outcome") as FailedAttemptOutcome,
    errorCode: row.optionalText("error_code"),
    errorDetail: row.optionalText("error_detail"),
    correlationId: row.optionalText("external_correlation_id"),
    late:
      lateAt === null
        ? null
        : {
            at: lateAt,
            status: row.text("late_status") as ReceiptStatus,
            output: JSON.parse(row.text("late_output")) as ToolOutput,
          },
  };
}
