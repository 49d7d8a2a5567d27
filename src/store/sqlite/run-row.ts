import { hash } from "node:crypto";
import { LeaseLostError, RunNotFoundError, type StoredError } from "../../core/errors.ts";
import type { Json, JsonObject } from "../../core/json.ts";
import { type Limit, Quota } from "../../core/quota.ts";
import type { Amount } from "../../core/usage.ts";
import type { Fence, RunRecord, RunStatus } from "../store.ts";
import type { Database, Row } from "./database.ts";

/** What every intent reads of a run and may change: who may write, what is charged, and the head of the log. */
export type RunHead = {
  readonly runNo: number;
  readonly runId: string;
  owner: string | null;
  epoch: number;
  quota: Quota;
  eventSeq: number;
  eventHash: Uint8Array;
};

/** The whole row, for the intents that begin and end something. */
export type RunRow = RunHead & {
  status: RunStatus;
  currentStepNo: number | null;
  leaseUntil: number;
  output: string | null;
  context: string | null;
  error: string | null;
};

export const NO_EVENT_HASH = new Uint8Array(32);

const HEAD_COLUMNS = `run_no, run_id, owner, epoch, limit_tokens, limit_micro_dollars, charged_tokens,
  charged_micro_dollars, reserved_tokens, reserved_micro_dollars, event_seq, event_hash`;

// Put together once: a text that is made anew at every call is hashed anew at every call, to find its statement.
const HEAD = `SELECT ${HEAD_COLUMNS} FROM runs WHERE run_id = ?`;
const HEAD_AND_STEP = `SELECT ${HEAD_COLUMNS},
    EXISTS (SELECT 1 FROM run_steps WHERE step_no = ? AND run_no = runs.run_no) AS has_step
  FROM runs WHERE run_id = ?`;
const WHOLE_ROW = `SELECT ${HEAD_COLUMNS}, status, current_step_no, lease_until, output, context, error
  FROM runs WHERE run_id = ?`;

/** Reads the head for a worker's write and refuses one whose lease another has taken. */
export function fencedRun(database: Database, fence: Fence): RunHead {
  const row = database.get(HEAD, fence.runId);
  if (row === null) throw runNotFound(fence.runId);
  return assertFence(runHead(row), fence);
}

/** The same for a write to a step, which has to be one of this run's: no fence covers the steps of another. */
export function fencedStep(database: Database, fence: Fence, stepKey: number): RunHead {
  const row = database.get(HEAD_AND_STEP, stepKey, fence.runId);
  if (row === null) throw runNotFound(fence.runId);
  const run = assertFence(runHead(row), fence);
  if (row.int("has_step") === 1) return run;
  throw new Error(`Run ${fence.runId} has no step ${stepKey}: nothing was written.`);
}

export function fencedRunRow(database: Database, fence: Fence): RunRow {
  const run = findRun(database, fence.runId);
  if (run === null) throw runNotFound(fence.runId);
  return assertFence(run, fence);
}

function assertFence<R extends RunHead>(run: R, fence: Fence): R {
  if (run.epoch === fence.epoch && run.owner !== null) return run;
  throw new LeaseLostError(
    `Run ${fence.runId} was taken over by ${run.owner ?? "nobody, and released"} (epoch ${run.epoch}): this worker (epoch ${fence.epoch}) wrote nothing and must stop.`,
    { runId: fence.runId, epoch: fence.epoch },
  );
}

export function findRun(database: Database, runId: string): RunRow | null {
  const row = database.get(WHOLE_ROW, runId);
  if (row === null) return null;
  return {
    ...runHead(row),
    status: row.text("status") as RunStatus,
    currentStepNo: row.optionalInt("current_step_no"),
    leaseUntil: row.int("lease_until"),
    output: row.optionalText("output"),
    context: row.optionalText("context"),
    error: row.optionalText("error"),
  };
}

function runHead(row: Row): RunHead {
  return {
    runNo: row.int("run_no"),
    runId: row.text("run_id"),
    owner: row.optionalText("owner"),
    epoch: row.int("epoch"),
    quota: quotaOf(row),
    eventSeq: row.int("event_seq"),
    eventHash: row.bytes("event_hash"),
  };
}

/** Writes the one event that tells of an intent, and what every intent may change in the row: usage and the log's head. */
export function recordEvent(
  database: Database,
  run: RunHead,
  now: number,
  type: string,
  data: JsonObject,
): void {
  const seq = run.eventSeq + 1;
  const text = JSON.stringify(data);
  const eventHash = chainHash(run.eventHash, seq, now, type, text);
  database.run("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", run.runNo, seq, now, type, text, eventHash);
  const { charged, reserved } = run.quota;
  database.run(
    `UPDATE runs SET updated_at = ?, charged_tokens = ?, charged_micro_dollars = ?, reserved_tokens = ?,
            reserved_micro_dollars = ?, event_seq = ?, event_hash = ? WHERE run_no = ?`,
    now,
    charged.tokens,
    charged.microDollars,
    reserved.tokens,
    reserved.microDollars,
    seq,
    eventHash,
    run.runNo,
  );
}

/**
 * Writes the rest of the row too: what the life of the run changes, and its turns do not. Apart, since naming an
 * indexed column in an UPDATE rewrites its index, whether it changed or not.
 */
export function saveRun(database: Database, run: RunRow, now: number, type: string, data: JsonObject): void {
  recordEvent(database, run, now, type, data);
  const { limit } = run.quota;
  database.run(
    `UPDATE runs SET status = ?, current_step_no = ?, owner = ?, epoch = ?, lease_until = ?, limit_tokens = ?,
            limit_micro_dollars = ?, output = ?, context = ?, error = ? WHERE run_no = ?`,
    run.status,
    run.currentStepNo,
    run.owner,
    run.epoch,
    run.leaseUntil,
    limit.tokens,
    limit.microDollars,
    run.output,
    run.context,
    run.error,
    run.runNo,
  );
}

/** The hash of an event covers everything it says and the hash of the one before it. */
export function chainHash(previous: Uint8Array, seq: number, at: number, type: string, data: string): Buffer {
  const text = `${seq}\n${at}\n${type}\n${data}`;
  const bytes = Buffer.allocUnsafe(previous.byteLength + Buffer.byteLength(text, "utf8"));
  bytes.set(previous);
  bytes.write(text, previous.byteLength, "utf8");
  return hash("sha256", bytes, "buffer");
}

export function runRecord(row: Row): RunRecord {
  const quota = quotaOf(row);
  return {
    runId: row.text("run_id"),
    pipeline: row.text("pipeline"),
    entrypoint: row.text("entrypoint"),
    status: row.text("status") as RunStatus,
    createdAt: row.int("created_at"),
    updatedAt: row.int("updated_at"),
    inputHash: row.bytes("input_hash"),
    currentStep: row.optionalText("current_step"),
    owner: row.optionalText("owner"),
    epoch: row.int("epoch"),
    leaseUntil: row.int("lease_until"),
    limit: quota.limit,
    charged: quota.charged,
    reserved: quota.reserved,
    output: parseJson(row.optionalText("output")),
    context: parseJson(row.optionalText("context")),
    error: parseJson(row.optionalText("error")) as StoredError | null,
  };
}

export const RUN_COLUMNS = `runs.*, (SELECT step_path FROM run_steps WHERE step_no = runs.current_step_no) AS current_step`;

export function getRun(database: Database, runId: string): RunRecord | null {
  const row = database.get(`SELECT ${RUN_COLUMNS} FROM runs WHERE run_id = ?`, runId);
  return row === null ? null : runRecord(row);
}

export function requireRunNo(database: Database, runId: string): number {
  const row = database.get("SELECT run_no FROM runs WHERE run_id = ?", runId);
  if (row === null) throw runNotFound(runId);
  return row.int("run_no");
}

export function parseJson(text: string | null): Json {
  return text === null ? null : (JSON.parse(text) as Json);
}

function runNotFound(runId: string): RunNotFoundError {
  return new RunNotFoundError(
    `There is no run ${runId} in this store: check the id and the store's address.`,
    { runId },
  );
}

function quotaOf(row: Row): Quota {
  const limit: Limit = {
    tokens: row.optionalInt("limit_tokens"),
    microDollars: row.optionalInt("limit_micro_dollars"),
  };
  return new Quota(limit, chargedAmount(row), reservedAmount(row));
}

export function chargedAmount(row: Row): Amount {
  return { tokens: row.int("charged_tokens"), microDollars: row.int("charged_micro_dollars") };
}

export function reservedAmount(row: Row): Amount {
  return { tokens: row.int("reserved_tokens"), microDollars: row.int("reserved_micro_dollars") };
}
