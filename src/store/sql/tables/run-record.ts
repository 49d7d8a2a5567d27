import { canonicalJson } from "../../../core/canonical-json.ts";
import type { Budgets } from "../../../core/job/budgets.ts";
import type { RunSpec } from "../../../core/job/run-spec.ts";
import type { Json, JsonObject } from "../../../core/json.ts";
import { decisionJson, decisionOf, type Person, readDecision } from "../../../core/person.ts";
import type { RequestedResume } from "../../../core/run/resume-request.ts";
import type { StepPath } from "../../../core/step-path.ts";
import type { StoredError } from "../../../core/stored-error.ts";
import type { ForkOrigin, RunMetadata, RunMove, RunRecord } from "../../store.ts";
import { plainBytes, type Row } from "../row.ts";
import { get, type SqlScript } from "../script.ts";
import { RUN_STATUSES } from "../stored-words.ts";
import type { Transaction } from "../transaction.ts";
import { missingRun } from "./missing-run.ts";
import { quotaOf } from "./run-quota.ts";
import { parseJson, type RunRow } from "./run-row.ts";

/** The parts of a run's record that are not in its row. */
export type PartsOfRecord = {
  readonly currentStep: StepPath | null;
  readonly spec: Json;
  readonly callContext: Json;
};

const PARTS = `SELECT spec, call_context, step_path FROM run_inputs
    LEFT JOIN run_steps ON run_steps.run_key = run_inputs.run_key AND step_no = ?
   WHERE run_inputs.run_key = ?`;

export function* readPartsOfRecord(row: RunRow): SqlScript<PartsOfRecord> {
  const parts = yield* get(PARTS, row.currentStepNo, row.key);
  return {
    currentStep: parts?.optionalText("step_path") ?? null,
    spec: parseJson(parts?.optionalText("spec") ?? null),
    callContext: parseJson(parts?.optionalText("call_context") ?? null),
  };
}

/** The record of a run that this intent has saved. */
export function savedRecord(tx: Transaction, row: RunRow, parts: PartsOfRecord): RunRecord {
  const { currentStep, spec, callContext } = parts;
  const { pipeline, entrypoint, createdAt, inputHash, forkedFrom, startedBy } = row.origin;
  const { queue, concurrencyKey, priority, metadata } = row.origin;
  return {
    runId: row.runId,
    pipeline,
    entrypoint,
    status: row.status,
    createdAt,
    updatedAt: tx.now,
    inputHash: plainBytes(inputHash),
    currentStep,
    owner: row.owner,
    epoch: row.epoch,
    leaseUntil: row.leaseUntil,
    limit: row.quota.limit,
    deadline: row.deadline,
    spec: spec as RunSpec | null,
    budgets: parseJson(row.budgets) as Budgets | null,
    cancelRequestedAt: row.cancelRequestedAt,
    forkedFrom: parseJson(forkedFrom) as ForkOrigin | null,
    moved: parseJson(row.moved) as RunMove | null,
    startedBy: readDecision(parseJson(startedBy)),
    charged: row.quota.charged,
    reserved: row.quota.reserved,
    output: parseJson(row.output),
    context: parseJson(row.context),
    error: parseJson(row.error) as StoredError | null,
    finalArtifact: parseJson(row.finalArtifact) as RunRecord["finalArtifact"],
    queue,
    concurrencyKey,
    priority,
    metadata: parseJson(metadata) as RunMetadata | null,
    callContext,
    readyAt: row.readyAt,
    wakeAt: row.wakeAt,
    stalls: row.stalls,
    workerVersion: row.workerVersion,
    resumeRequest: requestedResume(row.resumeRequest),
  };
}

/** The person who starts a run: for its row, and as a fact of its first event. */
export function starterOf(
  tx: Transaction,
  person: Person | undefined,
): { readonly text: string | null; readonly facts: JsonObject } {
  if (person === undefined) return { text: null, facts: {} };
  const startedBy = decisionJson(decisionOf(person, tx.now));
  return { text: canonicalJson(startedBy), facts: { startedBy } };
}

/** The stored request to resume a run. */
export function requestedResume(text: string | null): RequestedResume | null {
  const stored = parseJson(text) as RequestedResume | null;
  // Requests from before there was a hash accept the first changes that are found.
  return stored === null ? null : { ...stored, changesHash: stored.changesHash ?? null };
}

export function runRecord(row: Row): RunRecord {
  const quota = quotaOf(row);
  return {
    runId: row.text("run_id"),
    pipeline: row.text("pipeline"),
    entrypoint: row.text("entrypoint"),
    status: row.oneOf("status", RUN_STATUSES),
    createdAt: row.int("created_at"),
    updatedAt: row.int("updated_at"),
    inputHash: row.bytes("input_hash"),
    currentStep: row.optionalText("current_step"),
    owner: row.optionalText("owner"),
    epoch: row.int("epoch"),
    leaseUntil: row.int("lease_until"),
    limit: quota.limit,
    deadline: row.optionalInt("deadline_at"),
    spec: parseJson(row.optionalText("spec")) as RunSpec | null,
    budgets: parseJson(row.optionalText("budgets")) as Budgets | null,
    cancelRequestedAt: row.optionalInt("cancel_requested_at"),
    forkedFrom: parseJson(row.optionalText("forked_from")) as ForkOrigin | null,
    moved: parseJson(row.optionalText("moved")) as RunMove | null,
    startedBy: readDecision(parseJson(row.optionalText("started_by"))),
    charged: quota.charged,
    reserved: quota.reserved,
    output: parseJson(row.optionalText("output")),
    context: parseJson(row.optionalText("context")),
    error: parseJson(row.optionalText("error")) as StoredError | null,
    finalArtifact: parseJson(row.optionalText("final_artifact")) as RunRecord["finalArtifact"],
    queue: row.text("queue"),
    concurrencyKey: row.optionalText("concurrency_key"),
    priority: row.int("priority"),
    metadata: parseJson(row.optionalText("metadata")) as RunMetadata | null,
    callContext: parseJson(row.optionalText("call_context")),
    readyAt: row.optionalInt("ready_at"),
    wakeAt: row.optionalInt("wake_at"),
    stalls: row.int("stalls"),
    workerVersion: row.optionalText("worker_version"),
    resumeRequest: requestedResume(row.optionalText("resume_request")),
  };
}

export const CURRENT_STEP = `(SELECT step_path FROM run_steps
    WHERE run_steps.run_key = runs.run_key AND step_no = runs.current_step_no) AS current_step`;

/** The columns of a run's record. */
export const RUN_COLUMNS = `runs.*, ${CURRENT_STEP},
  (SELECT spec FROM run_inputs WHERE run_inputs.run_key = runs.run_key) AS spec,
  (SELECT call_context FROM run_inputs WHERE run_inputs.run_key = runs.run_key) AS call_context`;

const RUN_RECORD = `SELECT ${RUN_COLUMNS} FROM runs WHERE run_id = ?`;

export function* getRun(runId: string): SqlScript<RunRecord | null> {
  const row = yield* get(RUN_RECORD, runId);
  return row === null ? null : runRecord(row);
}

/** The record of a run that exists. */
export function* requireRecord(runId: string): SqlScript<RunRecord> {
  const run = yield* getRun(runId);
  if (run === null) throw yield* missingRun(runId);
  return run;
}
