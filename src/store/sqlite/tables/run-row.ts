import { hash } from "node:crypto";
import {
  LeaseLostError,
  RunNotFoundError,
  type StoredError,
  StoreUnusableError,
} from "../../../core/errors.ts";
import type { Budgets, RunSpec } from "../../../core/job/run-spec.ts";
import type { Json, JsonObject } from "../../../core/json.ts";
import { type Decision, decisionJson, decisionOf, type Person, readDecision } from "../../../core/person.ts";
import { type Limit, Quota } from "../../../core/usage/quota.ts";
import type { Amount } from "../../../core/usage/usage.ts";
import type { Fence, ForkOrigin, RunRecord, RunStatus } from "../../store.ts";
import type { Database, Row } from "../database.ts";
import type { RunHead, StepHead } from "../run-head.ts";
import { digestOf } from "./digest.ts";
import { coverRow, readCoveredRow, takeCoveredRows } from "./event-rows.ts";

/** The whole row, for the intents that begin and end something. */
export type RunRow = RunHead & {
  status: RunStatus;
  currentStepNo: number | null;
  leaseUntil: number;
  leaseMs: number;
  /** Where its owner marks what it is about to send; null where it does not. */
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

// Put together once: a text that is made anew at every call is hashed anew at every call, to find its statement.
const HEAD = `SELECT ${HEAD_COLUMNS} FROM runs WHERE run_id = ?`;
const WHOLE_ROW = `SELECT ${HEAD_COLUMNS}, status, current_step_no, lease_until, lease_ms, marks, deadline_at, budgets, waiting_since,
  cancel_requested_at, output, context, error FROM runs WHERE run_id = ?`;

/** The head for a worker's write to a step of its run; refused when another has taken the lease. */
export function fencedStep(database: Database, fence: Fence, stepKey: number): RunHead {
  const run = fencedRun(database, fence);
  stepHead(database, run, stepKey);
  return run;
}

/** The head for a worker's write to its run. */
export function fencedRun(database: Database, fence: Fence): RunHead {
  return assertFence(keptHead(database, fence.runId), fence);
}

/** What is known of a step of this run. No fence covers the steps of another. */
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

function keptHead(database: Database, runId: string): RunHead {
  const kept = database.heads.get(runId);
  if (kept !== undefined) return kept;
  const row = database.get(HEAD, runId);
  if (row === null) throw runNotFound(runId);
  const head = runHead(row);
  assertMatchesEvents(database, head);
  database.heads.set(runId, head);
  return head;
}

/** The whole row, as the database has it. */
export function fencedRunRow(database: Database, fence: Fence): RunRow {
  return assertFence(requireRun(database, fence.runId), fence);
}

/** The whole row, for those who change it. */
export function requireRun(database: Database, runId: string): RunRow {
  const run = findRun(database, runId);
  if (run === null) throw runNotFound(runId);
  assertMatchesEvents(database, run);
  return run;
}

/**
 * Whoever changes the row writes all of it, and the event tells of it: so that it does not tell of what another program has
 * put there, the row has to be what the last event that told of it says. That is never far back: a lease is renewed.
 */
function assertMatchesEvents(database: Database, run: RunHead): void {
  const events = database.iterate("SELECT data FROM events WHERE run_no = ? ORDER BY seq DESC", run.runNo);
  let isNewest = true;
  for (const event of events) {
    const { quota, rows } = parseJson(event.text("data")) as JsonObject;
    if (!Array.isArray(quota)) return;
    if (isNewest && quota.join() !== quotaFacts(run.quota).join()) throw changedRun(run);
    isNewest = false;
    const told = (Array.isArray(rows) ? (rows as readonly Json[]) : []).find(
      (row) => Array.isArray(row) && row[0] === "run",
    );
    if (told === undefined) continue;
    const [stored] = readCoveredRow(database, run.runId, { kind: "run", key: [run.runNo] });
    if (!Array.isArray(told) || told[1] !== stored?.[1]) throw changedRun(run);
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
    touched: new Map(),
    removed: new Map(),
  };
}

/**
 * Writes the one event that tells of an intent, and what every intent may change in the row: usage and the log's head. It is
 * the last thing that the intent writes, since it tells of all its rows.
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
  // What was known of the run is not so any more: the intent is refused, and tried again on what is.
  if (changed !== 1) throw new Error(`Run ${run.runId} was changed by another process.`);
  run.eventSeq = seq;
  run.eventHash = eventHash;
}

/**
 * Writes the rest of the row too: what the life of the run changes, and its turns do not. Apart, since naming an
 * indexed column in an UPDATE rewrites its index, whether it changed or not.
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

/** What is charged and reserved, as an event tells it. */
function quotaFacts({ charged, reserved }: Quota): number[] {
  return [charged.tokens, charged.microDollars, reserved.tokens, reserved.microDollars];
}

export function quotaDigest(facts: readonly (number | null)[]): string {
  return digestOf(...facts);
}

export function storedQuotaDigest(row: Row): string {
  return quotaDigest(quotaFacts(quotaOf(row)));
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

/** Who started a run stands in the first event of it, as all that it began with. */
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

/** What is usual, for a run that was claimed before that was kept. */
const USUAL_LEASE_MS = 30_000;

function leaseMsOf(row: Row): number {
  return row.optionalInt("lease_ms") ?? USUAL_LEASE_MS;
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
