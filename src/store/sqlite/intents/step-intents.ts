import { canonicalJson } from "../../../core/canonical-json.ts";
import type { Json } from "../../../core/json.ts";
import type { StepPath } from "../../../core/step-path.ts";
import type {
  Fence,
  FinishedStep,
  LoopDecision,
  NewStep,
  StepRange,
  StepRecord,
  StepStatus,
} from "../../store.ts";
import type { Database, Row } from "../database.ts";
import { digestOf } from "../tables/digest.ts";
import { coverRow } from "../tables/event-rows.ts";
import {
  fencedRunRow,
  fencedStep,
  parseJson,
  recordEvent,
  requireRunNo,
  saveRun,
  stepHead,
} from "../tables/run-row.ts";
import { writeSession } from "../tables/session-rows.ts";

export function beginStep(database: Database, now: number, fence: Fence, step: NewStep): StepRecord {
  const run = fencedRunRow(database, fence);
  const known = findStepRow(database, run.runNo, step.path);
  if (known?.status === "succeeded")
    throw new Error(`Step ${step.path} is finished: it is never entered again.`);
  if (known === null) insertStep(database, run.runNo, now, step, "running");
  else {
    database.run(
      `UPDATE run_steps SET status = 'running', updated_at = ?, error_code = NULL, error_detail = NULL,
              input = CASE status WHEN 'skipped' THEN ? ELSE input END WHERE step_no = ?`,
      now,
      canonicalJson(step.input),
      known.stepKey,
    );
  }
  const begun = findStepRow(database, run.runNo, step.path);
  if (begun === null) throw new Error(`Step ${step.path} was inserted and is not there.`);
  run.currentStepNo = begun.stepKey;
  coverRow(run, "step", begun.stepKey);
  saveRun(database, run, now, known === null ? "step.begun" : "step.resumed", {
    step: step.path,
    kind: step.kind,
  });
  return begun;
}

export function skipStep(database: Database, now: number, fence: Fence, step: NewStep): void {
  const run = fencedRunRow(database, fence);
  // A step that was begun keeps its status.
  if (findStepRow(database, run.runNo, step.path) !== null) return;
  coverRow(run, "step", insertStep(database, run.runNo, now, step, "skipped"));
  saveRun(database, run, now, "step.skipped", { step: step.path, kind: step.kind });
}

function insertStep(
  database: Database,
  runNo: number,
  now: number,
  step: NewStep,
  status: "running" | "skipped",
): number {
  return database.insert(
    `INSERT INTO run_steps (run_no, step_path, step_index, step_name, kind, phase, status, created_at, updated_at, input)
     VALUES (?, ?, (SELECT count(*) + 1 FROM run_steps WHERE run_no = ?), ?, ?, ?, ?, ?, ?, ?)`,
    runNo,
    step.path,
    runNo,
    step.name,
    step.kind,
    step.phase,
    status,
    now,
    now,
    canonicalJson(step.input),
  );
}

export function finishStep(
  database: Database,
  now: number,
  fence: Fence,
  step: FinishedStep,
): { checkpoint: number | null } {
  const run = fencedStep(database, fence, step.stepKey);
  const [output, context] = [canonicalJson(step.output), optionalJson(step.context)];
  const changed = database.run(
    `UPDATE run_steps SET status = 'succeeded', updated_at = ?, output = ?, context = ?
      WHERE step_no = ? AND status = 'running'`,
    now,
    output,
    context,
    step.stepKey,
  );
  if (changed !== 1)
    throw new Error(`Step ${step.stepKey} of run ${fence.runId} is not running: it cannot finish.`);
  coverRow(run, "step", step.stepKey);
  const place = { stepKey: step.stepKey, turnIndex: 0 };
  const { facts, checkpoint } = writeSession(database, run, now, place, step.session);
  recordEvent(database, run, now, "step.finished", {
    step: stepHead(database, run, step.stepKey).path,
    output: digestOf(output, context),
    ...facts,
  });
  return { checkpoint };
}

export function decideLoop(database: Database, now: number, fence: Fence, decision: LoopDecision): void {
  const { stepKey, iteration, done, output, context } = decision;
  const run = fencedStep(database, fence, stepKey);
  database.run(
    "INSERT INTO loop_decisions VALUES (?, ?, ?, ?, ?)",
    stepKey,
    iteration,
    Number(done),
    canonicalJson(output),
    optionalJson(context),
  );
  coverRow(run, "decision", stepKey, iteration);
  recordEvent(database, run, now, "loop.decided", {
    step: stepHead(database, run, stepKey).path,
    iteration,
    done,
  });
}

export function listLoopDecisions(database: Database, stepKey: number): LoopDecision[] {
  return database
    .all("SELECT * FROM loop_decisions WHERE step_no = ? ORDER BY iteration", stepKey)
    .map((row) => ({
      stepKey,
      iteration: row.int("iteration"),
      done: row.int("done") === 1,
      output: parseJson(row.text("output")),
      context: parseJson(row.optionalText("context")),
    }));
}

export function listSteps(
  database: Database,
  runId: string,
  { after, limit = Number.MAX_SAFE_INTEGER }: StepRange = {},
): StepRecord[] {
  const runNo = requireRunNo(database, runId);
  const last = after === undefined ? null : findStepRow(database, runNo, after.path);
  if (after !== undefined && last === null) return [];
  return database
    .all(
      "SELECT * FROM run_steps WHERE run_no = ? AND step_index > ? ORDER BY step_index LIMIT ?",
      runNo,
      last?.stepIndex ?? 0,
      limit,
    )
    .map(stepRecord);
}

export function findStep(database: Database, runId: string, path: StepPath): StepRecord | null {
  return findStepRow(database, requireRunNo(database, runId), path);
}

function optionalJson(value: Json): string | null {
  return value === null ? null : canonicalJson(value);
}

function findStepRow(database: Database, runNo: number, path: StepPath): StepRecord | null {
  const row = database.get("SELECT * FROM run_steps WHERE run_no = ? AND step_path = ?", runNo, path);
  return row === null ? null : stepRecord(row);
}

function stepRecord(row: Row): StepRecord {
  return {
    stepKey: row.int("step_no"),
    path: row.text("step_path"),
    name: row.text("step_name"),
    kind: row.text("kind"),
    phase: row.text("phase"),
    stepIndex: row.int("step_index"),
    status: row.text("status") as StepStatus,
    input: parseJson(row.text("input")),
    output: parseJson(row.optionalText("output")),
    context: parseJson(row.optionalText("context")),
    errorCode: row.optionalText("error_code"),
    errorDetail: row.optionalText("error_detail"),
    createdAt: row.int("created_at"),
    updatedAt: row.int("updated_at"),
  };
}
