import { hash } from "node:crypto";
import {
  LeaseLostError,
  RunNotFoundError,
  type StoredError,
  StoreUnusableError,
} from "../../../core/errors.ts";
import type { Budgets } from "../../../core/job/budgets.ts";
import type { RunSpec } from "../../../core/job/run-spec.ts";
import type { Json, JsonObject } from "../../../core/json.ts";
import { type Decision, decisionJson, decisionOf, type Person, readDecision } from "../../../core/person.ts";
import { type Limit, Quota } from "../../../core/usage/quota.ts";
import type { Amount } from "../../../core/usage/usage.ts";
import type { Fence, ForkOrigin, RunRecord, RunStatus } from "../../store.ts";
import type { Database, Row } from "../database.ts";
import type { RunHead, StepHead } from "../run-head.ts";
import { digestOf } from "./digest.ts";
import { coverRow, readCoveredRow, takeCoveredRows } from "./event-rows.ts";

/** The whole row, for intents that change the status or the lease of the run. */
export type RunRow = RunHead & {
  status: RunStatus;
  currentStepNo: number | null;
  leaseUntil: number;
  leaseMs: number;
  /** The identity of the file in which its owner marks what it is about to send; null if it writes no marks. */
  marks: string | null;
  deadline: number | null;
  budgets: string | null;
  waitingSince: number | null;
  cancelRequestedAt: number | null;
  output: string | null;
  context: string | null;
  error: string | null;
};

export const NO_EVENT_HASH = new Uint8Array(32);

const HEAD_COLUMNS = `run_no, run_id, owner, epoch, limit_tokens, limit_micro_dollars, charged_tokens,
  charged_micro_dollars, reserved_tokens, reserved_micro_dollars, event_seq, event_hash`;

// Built once: the statement cache hashes the text at every call, and a new string is hashed again each time.
const HEAD = `SELECT ${HEAD_COLUMNS} FROM runs WHERE run_id = ?`;
const WHOLE_ROW = `SELECT ${HEAD_COLUMNS}, status, current_step_no, lease_until, lease_ms, marks, deadline_at, budgets, waiting_since,
  cancel_requested_at, output, context, error FROM runs WHERE run_id = ?`;

/** The head for a worker's write to a step of its run; refused if another worker has claimed the run. */
export function fencedStep(database: Database, fence: Fence, stepKey: number): RunHead {
  const run = fencedRun(database, fence);
  stepHead(database, run, stepKey);
  return run;
}

/** The head for a worker's write to its run. */
export function fencedRun(database: Database, fence: Fence): RunHead {
  return assertFence(cachedHead(database, fence.runId), fence);
}

/** The cached state of a step of this run. A fence does not cover steps of another run. */
export function stepHead(database: Database, run: RunHead, stepKey: number): StepHead {
  const known = run.steps.get(stepKey);
  if (known !== undefined) return known;
  const row = database.get(
    "SELECT step_path FROM run_steps WHERE step_no = ? AND run_no = ?",
    stepKey,
    run.runNo,
  );
  if (row === null) throw new Error(`Run ${run.runId} has no step ${stepKey}: nothing was written.`);
  const step: StepHead = { path: row.text("step_path"), state: null, calls: null };
  run.steps.set(stepKey, step);
  return step;
}

function cachedHead(database: Database, runId: string): RunHead {
  const cached = database.heads.get(runId);
  if (cached !== undefined) return cached;
  const row = database.get(HEAD, runId);
  if (row === null) throw runNotFound(runId);
  const head = runHead(row);
  assertMatchesEvents(database, head);
  database.heads.set(runId, head);
  return head;
}

/** The whole row, read from the database. */
export function fencedRunRow(database: Database, fence: Fence): RunRow {
  return assertFence(requireRun(database, fence.runId), fence);
}

/** The whole row, for an intent without a fence. */
export function requireRun(database: Database, runId: string): RunRow {
  const run = findRun(database, runId);
  if (run === null) throw runNotFound(runId);
  assertMatchesEvents(database, run);
  return run;
}

/**
 * An intent writes the whole row, and its event covers it. So that the event does not cover changes by another
 * program, the row must match the last event that covers it. That is never far back: a lease is renewed.
 */
function assertMatchesEvents(database: Database, run: RunHead): void {
  const events = database.iterate("SELECT data FROM events WHERE run_no = ? ORDER BY seq DESC", run.runNo);
  let isNewest = true;
  for (const event of events) {
    const { quota, rows } = parseJson(event.text("data")) as JsonObject;
    if (!Array.isArray(quota)) return;
    if (isNewest && quota.join() !== quotaFacts(run.quota).join()) throw changedRun(run);
    isNewest = false;
    const covered = (Array.isArray(rows) ? (rows as readonly Json[]) : []).find(
      (row) => Array.isArray(row) && row[0] === "run",
    );
    if (covered === undefined) continue;
    const [stored] = readCoveredRow(database, run.runId, { kind: "run", key: [run.runNo] });
    if (!Array.isArray(covered) || covered[1] !== stored?.[1]) throw changedRun(run);
    return;
  }
}

function changedRun({ runId }: RunHead): StoreUnusableError {
  return new StoreUnusableError(
    `Run ${runId} is not as it was written: another program has changed its row. Nothing was done; see \`pawl verify ${runId}\`, and restore the database from a backup.`,
    { reason: "changed_rows" },
  );
}

function assertFence<R extends RunHead>(run: R, fence: Fence): R {
  if (run.epoch === fence.epoch && run.owner !== null) return run;
  throw new LeaseLostError(
    `Run ${fence.runId} was ${run.owner === null ? "released" : `claimed by ${run.owner}`} (epoch ${run.epoch}): this worker (epoch ${fence.epoch}) wrote nothing and must stop.`,
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
    leaseMs: leaseMsOf(row),
    marks: row.optionalText("marks"),
    deadline: row.optionalInt("deadline_at"),
    budgets: row.optionalText("budgets"),
    waitingSince: row.optionalInt("waiting_since"),
    cancelRequestedAt: row.optionalInt("cancel_requested_at"),
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
    steps: new Map(),
    hasOpenWaits: null,
    hasUncertainCalls: null,
    writtenRows: new Map(),
    removedRows: new Map(),
  };
}

/**
 * Writes the one event of an intent, and the columns that every intent may change: usage and the head of the log. It
 * is the last write of the intent, since it covers all of its rows.
 */
export function recordEvent(
  database: Database,
  run: RunHead,
  now: number,
  type: string,
  data: JsonObject,
): void {
  const seq = run.eventSeq + 1;
  const text = JSON.stringify({ ...data, ...takeCoveredRows(database, run), quota: quotaFacts(run.quota) });
  const eventHash = chainHash(run.eventHash, seq, now, type, text);
  database.run("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", run.runNo, seq, now, type, text, eventHash);
  const { charged, reserved } = run.quota;
  const changed = database.run(
    `UPDATE runs SET updated_at = ?, charged_tokens = ?, charged_micro_dollars = ?, reserved_tokens = ?,
            reserved_micro_dollars = ?, event_seq = ?, event_hash = ? WHERE run_no = ? AND event_seq = ?`,
    now,
    charged.tokens,
    charged.microDollars,
    reserved.tokens,
    reserved.microDollars,
    seq,
    eventHash,
    run.runNo,
    run.eventSeq,
  );
  // The cached head is stale: the intent is refused, and retried on fresh data.
  if (changed !== 1) throw new StaleHeadError(run.runId);
  run.eventSeq = seq;
  run.eventHash = eventHash;
}

/** The run was changed by another process since its head was cached; the intent is retried on fresh data. */
class StaleHeadError extends Error {
  constructor(runId: string) {
    super(`Run ${runId} was changed by another process.`);
    this.name = "StaleHeadError";
  }
}

/**
 * Also writes the rest of the row, which changes with the status of the run and not with its turns. Separate, since
 * naming an indexed column in an UPDATE rewrites its index, whether it changed or not.
 */
export function saveRun(database: Database, run: RunRow, now: number, type: string, data: JsonObject): void {
  const { limit } = run.quota;
  database.run(
    `UPDATE runs SET status = ?, current_step_no = ?, owner = ?, epoch = ?, lease_until = ?, lease_ms = ?, marks = ?, limit_tokens = ?,
            limit_micro_dollars = ?, deadline_at = ?, budgets = ?, waiting_since = ?, cancel_requested_at = ?,
            output = ?, context = ?, error = ? WHERE run_no = ?`,
    run.status,
    run.currentStepNo,
    run.owner,
    run.epoch,
    run.leaseUntil,
    run.leaseMs,
    run.marks,
    limit.tokens,
    limit.microDollars,
    run.deadline,
    run.budgets,
    run.waitingSince,
    run.cancelRequestedAt,
    run.output,
    run.context,
    run.error,
    run.runNo,
  );
  coverRow(run, "run", run.runNo);
  recordEvent(database, run, now, type, data);
  database.heads.delete(run.runId);
}

/** The amounts charged and reserved, as events record them. */
function quotaFacts({ charged, reserved }: Quota): number[] {
  return [charged.tokens, charged.microDollars, reserved.tokens, reserved.microDollars];
}

export function quotaDigest(facts: readonly (number | null)[]): string {
  return digestOf(...facts);
}

export function storedQuotaDigest(row: Row): string {
  return quotaDigest(quotaFacts(quotaOf(row)));
}

/** The hash of an event covers its content and the hash of the previous event. */
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
    deadline: row.optionalInt("deadline_at"),
    spec: parseJson(row.optionalText("spec")) as RunSpec | null,
    budgets: parseJson(row.optionalText("budgets")) as Budgets | null,
    cancelRequestedAt: row.optionalInt("cancel_requested_at"),
    forkedFrom: parseJson(row.optionalText("forked_from")) as ForkOrigin | null,
    startedBy: readDecision(parseJson(row.optionalText("started_by"))),
    charged: quota.charged,
    reserved: quota.reserved,
    output: parseJson(row.optionalText("output")),
    context: parseJson(row.optionalText("context")),
    error: parseJson(row.optionalText("error")) as StoredError | null,
  };
}

export const RUN_COLUMNS = `runs.*, (SELECT step_path FROM run_steps WHERE step_no = runs.current_step_no) AS current_step,
  (SELECT spec FROM run_inputs WHERE run_no = runs.run_no) AS spec,
  (SELECT json_extract(data, '$.startedBy') FROM events WHERE run_no = runs.run_no AND seq = 1) AS started_by`;

export function getRun(database: Database, runId: string): RunRecord | null {
  const row = database.get(`SELECT ${RUN_COLUMNS} FROM runs WHERE run_id = ?`, runId);
  return row === null ? null : runRecord(row);
}

/** The person who started the run is recorded in its first event, like everything it began with. */
export function startedBy(database: Database, runId: string): Decision | null {
  return getRun(database, runId)?.startedBy ?? null;
}

export function starterFacts(person: Person | undefined, now: number): JsonObject {
  return person === undefined ? {} : { startedBy: decisionJson(decisionOf(person, now)) };
}

export function requireRunNo(database: Database, runId: string): number {
  const row = database.get("SELECT run_no FROM runs WHERE run_id = ?", runId);
  if (row === null) throw runNotFound(runId);
  return row.int("run_no");
}

/** For a run that was claimed before the length of its lease was stored. */
const DEFAULT_LEASE_MS = 30_000;

function leaseMsOf(row: Row): number {
  return row.optionalInt("lease_ms") ?? DEFAULT_LEASE_MS;
}

export function parseJson(text: string | null): Json {
  return text === null ? null : (JSON.parse(text) as Json);
}

export function runNotFound(runId: string): RunNotFoundError {
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
