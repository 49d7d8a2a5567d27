import { canonicalJson } from "../../../core/canonical-json.ts";
import type { Json } from "../../../core/json.ts";
import { assertNameSize } from "../../../core/naming/name-size.ts";
import type { StepPath } from "../../../core/step-path.ts";
import type { Fence, FinishedStep, LoopDecision, NewStep, StepRange, StepRecord } from "../../store.ts";
import type { Row } from "../row.ts";
import type { RunHead } from "../run-head.ts";
import { all, get, type SqlScript } from "../script.ts";
import { STEP_STATUSES } from "../stored-words.ts";
import type { RunKey } from "../table-list.ts";
import {
  fencedRunRow,
  fencedStep,
  parseJson,
  type RunRow,
  recordEvent,
  requireRunKey,
  saveRun,
  stepHead,
} from "../tables/run-row.ts";
import { writeSession } from "../tables/session-rows.ts";
import { changeRow, insertRow, type Transaction } from "../transaction.ts";

export function* beginStep(tx: Transaction, fence: Fence, step: NewStep): SqlScript<StepRecord> {
  const run = yield* fencedRunRow(tx, fence);
  const known = yield* findStepRow(run.key, step.path);
  if (known?.status === "succeeded")
    throw new Error(`Step ${step.path} is finished: it is never entered again.`);
  const begun =
    known === null ? insertStep(tx, run, step, "running") : enterAgain(tx, run, known, step.input);
  run.currentStepNo = begun.stepKey;
  saveRun(tx, run, known === null ? "step.begun" : "step.resumed", { step: step.path, kind: step.kind });
  return begun;
}

/** A step that was skipped gets its input now. */
function enterAgain(tx: Transaction, run: RunRow, known: StepRecord, input: Json): StepRecord {
  const text = canonicalJson(input);
  changeRow(
    tx,
    run,
    "run_steps",
    { step_no: known.stepKey },
    {
      status: "running",
      updated_at: tx.now,
      error_code: null,
      error_detail: null,
      ...(known.status === "skipped" ? { input: text } : {}),
    },
  );
  return {
    ...known,
    status: "running",
    input: known.status === "skipped" ? parseJson(text) : known.input,
    errorCode: null,
    errorDetail: null,
    updatedAt: tx.now,
  };
}

export function* skipStep(tx: Transaction, fence: Fence, step: NewStep): SqlScript<void> {
  const run = yield* fencedRunRow(tx, fence);
  // A step that was begun keeps its status.
  if ((yield* findStepRow(run.key, step.path)) !== null) return;
  insertStep(tx, run, step, "skipped");
  saveRun(tx, run, "step.skipped", { step: step.path, kind: step.kind });
}

function insertStep(tx: Transaction, run: RunRow, step: NewStep, status: "running" | "skipped"): StepRecord {
  const { path, name, kind, phase } = step;
  assertNameSize("step path", path);
  const input = canonicalJson(step.input);
  run.counts.steps += 1;
  const stepKey = run.counts.steps;
  insertRow(tx, run, "run_steps", {
    step_no: stepKey,
    step_path: path,
    step_name: name,
    kind,
    phase,
    created_at: tx.now,
    status,
    updated_at: tx.now,
    error_code: null,
    error_detail: null,
    input,
    output: null,
    context: null,
  });
  return {
    stepKey,
    path,
    name,
    kind,
    phase,
    stepIndex: stepKey,
    status,
    input: parseJson(input),
    output: null,
    context: null,
    errorCode: null,
    errorDetail: null,
    createdAt: tx.now,
    updatedAt: tx.now,
  };
}

const STEP_STATUS = "SELECT status FROM run_steps WHERE run_key = ? AND step_no = ?";

/** Refuses a step that has ended, or was never begun. */
export function* assertRunning({ key, runId }: RunHead, stepKey: number): SqlScript<void> {
  const row = yield* get(STEP_STATUS, key, stepKey);
  if (row?.oneOf("status", STEP_STATUSES) === "running") return;
  throw new Error(`Step ${stepKey} of run ${runId} is not running: nothing was written.`);
}

export function* finishStep(
  tx: Transaction,
  fence: Fence,
  step: FinishedStep,
): SqlScript<{ checkpoint: number | null }> {
  const { stepKey } = step;
  const run = yield* fencedStep(tx, fence, stepKey);
  const { path } = yield* stepHead(run, stepKey);
  yield* assertRunning(run, stepKey);
  changeRow(
    tx,
    run,
    "run_steps",
    { step_no: stepKey },
    {
      status: "succeeded",
      updated_at: tx.now,
      error_code: null,
      error_detail: null,
      output: canonicalJson(step.output),
      context: optionalJson(step.context),
    },
  );
  const { facts, checkpoint } = yield* writeSession(tx, run, { stepKey, turnIndex: 0 }, step.session);
  recordEvent(tx, run, "step.finished", { step: path, ...facts });
  return { checkpoint };
}

export function* decideLoop(tx: Transaction, fence: Fence, decision: LoopDecision): SqlScript<void> {
  const { stepKey, iteration, done, output, context } = decision;
  const run = yield* fencedStep(tx, fence, stepKey);
  const { path } = yield* stepHead(run, stepKey);
  insertRow(tx, run, "loop_decisions", {
    step_no: stepKey,
    iteration,
    done: Number(done),
    output: canonicalJson(output),
    context: optionalJson(context),
  });
  recordEvent(tx, run, "loop.decided", { step: path, iteration, done });
}

export function* listLoopDecisions(runId: string, stepKey: number): SqlScript<LoopDecision[]> {
  const rows = yield* all(
    "SELECT * FROM loop_decisions WHERE run_key = ? AND step_no = ? ORDER BY iteration",
    yield* requireRunKey(runId),
    stepKey,
  );
  return rows.map((row) => ({
    stepKey,
    iteration: row.int("iteration"),
    done: row.flag("done"),
    output: parseJson(row.text("output")),
    context: parseJson(row.optionalText("context")),
  }));
}

export function* listSteps(
  runId: string,
  { after, limit = Number.MAX_SAFE_INTEGER }: StepRange = {},
): SqlScript<StepRecord[]> {
  const key = yield* requireRunKey(runId);
  const last = after === undefined ? null : yield* findStepRow(key, after.path);
  if (after !== undefined && last === null) return [];
  const rows = yield* all(
    "SELECT * FROM run_steps WHERE run_key = ? AND step_no > ? ORDER BY step_no LIMIT ?",
    key,
    last?.stepIndex ?? 0,
    limit,
  );
  return rows.map(stepRecord);
}

export function* findStep(runId: string, path: StepPath): SqlScript<StepRecord | null> {
  return yield* findStepRow(yield* requireRunKey(runId), path);
}

function optionalJson(value: Json): string | null {
  return value === null ? null : canonicalJson(value);
}

function* findStepRow(key: RunKey, path: StepPath): SqlScript<StepRecord | null> {
  const row = yield* get("SELECT * FROM run_steps WHERE run_key = ? AND step_path = ?", key, path);
  return row === null ? null : stepRecord(row);
}

function stepRecord(row: Row): StepRecord {
  return {
    stepKey: row.int("step_no"),
    path: row.text("step_path"),
    name: row.text("step_name"),
    kind: row.text("kind"),
    phase: row.text("phase"),
    stepIndex: row.int("step_no"),
    status: row.oneOf("status", STEP_STATUSES),
    input: parseJson(row.text("input")),
    output: parseJson(row.optionalText("output")),
    context: parseJson(row.optionalText("context")),
    errorCode: row.optionalText("error_code"),
    errorDetail: row.optionalText("error_detail"),
    createdAt: row.int("created_at"),
    updatedAt: row.int("updated_at"),
  };
}
