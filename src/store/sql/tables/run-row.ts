import { StoreUnusableError } from "../../../core/errors.ts";
import { chainHash, NO_EVENT_HASH } from "../../../core/event-chain.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../core/json.ts";
import { type Limit, Quota } from "../../../core/usage/quota.ts";
import type { Fence } from "../../store.ts";
import { coversRun, RUN_ROW } from "../covered-rows.ts";
import type { RunHead, StepHead } from "../run-head.ts";
import { get, type SqlScript } from "../script.ts";
import type { RunKey } from "../table-list.ts";
import type { Transaction } from "../transaction.ts";
import type { RowValues } from "../write.ts";
import { assertFence, assertNothingLost } from "./fence.ts";
import { missingRun } from "./missing-run.ts";
import {
  headColumns,
  headFacts,
  hintOf,
  leaseColumns,
  newHead,
  originColumns,
  type RunRow,
  runRow,
  runRowDigest,
  stateColumns,
} from "./run-columns.ts";

export type { RunOrigin, RunRow } from "./run-columns.ts";

const RUN_ROWS = "SELECT * FROM runs WHERE run_id = ?";

/** The head for a worker's write to a step of its run; refused if another worker has claimed the run. */
export function* fencedStep(tx: Transaction, fence: Fence, stepKey: number): SqlScript<RunHead> {
  const run = yield* fencedRun(tx, fence);
  yield* stepHead(run, stepKey);
  return run;
}

/** The head for a worker's write to its run. */
export function* fencedRun(tx: Transaction, fence: Fence): SqlScript<RunHead> {
  const head = tx.heads.get(fence.runId) ?? (yield* loadHead(tx, fence.runId));
  return assertFence(tx, head, fence);
}

function* loadHead(tx: Transaction, runId: string): SqlScript<RunHead> {
  const run = yield* requireRun(runId);
  yield* assertNothingLost(tx.leases, run);
  const { key, owner, epoch, quota, counts, eventSeq, eventHash } = run;
  const head = newHead({ key, runId, owner, epoch, quota, counts, eventSeq, eventHash });
  tx.heads.set(runId, head);
  return head;
}

/** The cached state of a step of this run. A fence does not cover steps of another run. */
export function* stepHead(run: RunHead, stepKey: number): SqlScript<StepHead> {
  const known = run.steps.get(stepKey);
  if (known !== undefined) return known;
  const row = yield* get(
    "SELECT step_path FROM run_steps WHERE run_key = ? AND step_no = ?",
    run.key,
    stepKey,
  );
  if (row === null) throw new Error(`Run ${run.runId} has no step ${stepKey}: nothing was written.`);
  const step: StepHead = { path: row.text("step_path"), state: null, calls: null };
  run.steps.set(stepKey, step);
  return step;
}

/** The whole row, read from the database. */
export function* fencedRunRow(tx: Transaction, fence: Fence): SqlScript<RunRow> {
  const run = yield* requireRun(fence.runId);
  yield* assertNothingLost(tx.leases, run);
  return assertFence(tx, run, fence);
}

/** The same for a worker that stops: the row counts, whatever the worker knows. */
export function* rowToLeave(tx: Transaction, fence: Fence): SqlScript<RunRow> {
  return assertFence(tx, yield* requireRun(fence.runId), fence);
}

/** The whole row, for an intent without a fence. */
export function* requireRun(runId: string): SqlScript<RunRow> {
  const row = yield* get(RUN_ROWS, runId);
  if (row === null) throw yield* missingRun(runId);
  const run = runRow(row);
  // A run that was moved away is only read, and one that arrives is checked once it is whole.
  if (run.status !== "moved") yield* assertMatchesEvents(run, row.int("row_seq"));
  return run;
}

/** The whole row without a check against the log; null if there is no such run. */
export function* findRun(runId: string): SqlScript<RunRow | null> {
  const row = yield* get(RUN_ROWS, runId);
  return row === null ? null : runRow(row);
}

/**
 * The run, which no other process changes until the end of the transaction. For an intent that is not submitted as one of
 * this run: without the lock, the rows that it reads one after the other may belong to different states.
 */
export function* lockedRun(tx: Transaction, runId: string): SqlScript<RunRow | null> {
  const run = yield* findRun(runId);
  if (run === null) return null;
  return (yield* tx.lockRuns([run.key])) ? yield* findRun(runId) : run;
}

/**
 * An intent writes the whole row, and its event covers it. So that the event does not cover changes by another
 * program, the row must match the newest event, and the last event that covers it, whose number the row has.
 */
function* assertMatchesEvents(run: RunRow, rowSeq: number): SqlScript<void> {
  const newest = yield* eventFacts(run, run.eventSeq);
  const covering = rowSeq === run.eventSeq ? newest : yield* eventFacts(run, rowSeq);
  if (newest === null || JSON.stringify(newest.head) !== JSON.stringify(headFacts(run)))
    throw changedRun(run);
  const rows = Array.isArray(covering?.rows) ? (covering.rows as readonly Json[]) : [];
  const covered = rows.find((row) => Array.isArray(row) && row[0] === RUN_ROW);
  if (!Array.isArray(covered) || covered[1] !== runRowDigest(run)) throw changedRun(run);
}

function* eventFacts(run: RunRow, seq: number): SqlScript<JsonObject | null> {
  const event = yield* get("SELECT data FROM events WHERE run_key = ? AND seq = ?", run.key, seq);
  const data = event === null ? null : parseJson(event.text("data"));
  return isJsonObject(data) ? data : null;
}

function changedRun({ runId }: RunHead): StoreUnusableError {
  return new StoreUnusableError(
    `Run ${runId} is not as it was written: another program has changed its row. Nothing was done; see \`pawl verify ${runId}\`, and restore the database from a backup.`,
    { reason: "changed_rows" },
  );
}

/** A run that begins now: its row is written with its first event. */
export type FirstRow = Omit<
  RunRow,
  keyof RunHead | "isLeaseNew" | "readyAt" | "hint" | "stalls" | "workerVersion" | "resumeRequest"
> &
  Pick<RunHead, "key" | "runId" | "owner" | "epoch"> & {
    readonly limit: Limit;
  };

/** Writes the row of a new run. Its first event follows in the same transaction. */
export function insertRun(tx: Transaction, { limit, ...first }: FirstRow): RunRow {
  const { key, runId, owner, epoch } = first;
  const counts = { steps: 0, calls: 0, waits: 0, checkpoints: 0, run_events: 0 };
  // It refuses anything but whole numbers; SQLite would store NaN as no limit.
  const quota = new Quota(limit);
  const head = newHead({ key, runId, owner, epoch, quota, counts, eventSeq: 0, eventHash: NO_EVENT_HASH });
  const run: RunRow = {
    ...head,
    ...first,
    readyAt: null,
    hint: "",
    stalls: 0,
    workerVersion: null,
    resumeRequest: null,
    isLeaseNew: false,
  };
  setReady(tx, run);
  tx.write({
    kind: "insert",
    table: "runs",
    row: {
      run_key: key,
      run_id: runId,
      ...originColumns(run.origin),
      updated_at: tx.now,
      ...stateColumns(run),
      ...leaseColumns(run),
      ...headColumns(run),
      event_seq: 0,
      event_hash: NO_EVENT_HASH,
      row_seq: 0,
    },
  });
  return run;
}

/**
 * Writes the one event of an intent, and the columns that every intent may change: usage, counts and the head of the
 * log. It is the last write of the intent, since it covers all of its rows.
 */
export function recordEvent(
  tx: Transaction,
  run: RunHead,
  type: string,
  data: JsonObject,
  columns: RowValues = {},
): void {
  const seq = run.eventSeq + 1;
  const rows = [...run.covered];
  const ofRun = coversRun(run.covered.keys());
  // Counted, so that a mark which was removed from an old event is noticed without reading all of them.
  if (ofRun) run.counts.run_events += 1;
  const text = JSON.stringify({
    ...data,
    ...(rows.length === 0 ? {} : { rows }),
    head: headFacts(run),
  });
  const eventHash = chainHash(run.eventHash, seq, tx.now, type, text);
  run.covered.clear();
  tx.write({
    kind: "insert",
    table: "events",
    row: {
      run_key: run.key,
      seq,
      created_at: tx.now,
      type,
      data: text,
      hash: eventHash,
      of_run: Number(ofRun),
    },
  });
  tx.write({
    kind: "advance",
    runId: run.runId,
    key: run.key,
    previousHash: run.eventHash,
    set: { updated_at: tx.now, ...columns, ...headColumns(run), event_seq: seq, event_hash: eventHash },
  });
  run.eventSeq = seq;
  run.eventHash = eventHash;
}

/** Also writes the rest of the row, which changes with the status of the run and not with its turns. */
export function saveRun(tx: Transaction, run: RunRow, type: string, data: JsonObject): void {
  setReady(tx, run);
  run.covered.set(RUN_ROW, runRowDigest(run));
  const lease = run.isLeaseNew ? leaseColumns(run) : {};
  recordEvent(tx, run, type, data, { ...stateColumns(run), ...lease, row_seq: run.eventSeq + 1 });
  run.isLeaseNew = false;
  tx.heads.delete(run.runId);
  askToLook(tx, run);
}

/** Only if it became ready, or has another time at which the clock has something to do. */
function askToLook(tx: Transaction, run: RunRow): void {
  const hint = hintOf(run);
  if (hint !== "" && hint !== run.hint) tx.write({ kind: "wake", runId: run.runId, at: run.wakeAt });
  run.hint = hint;
}

/** Only a queued run is ready for a worker, and the clock wakes only one that is queued or waits. */
function setReady(tx: Transaction, run: RunRow): void {
  if (run.status !== "queued" && run.status !== "waiting") run.wakeAt = null;
  if (run.status !== "queued") run.isUnstarted = false;
  else if (!run.isUnstarted) run.readyAt ??= run.wakeAt ?? tx.now;
  // One that moves keeps its place, and the time that it is not to begin before.
  if (run.status !== "queued" && run.status !== "moved") run.readyAt = null;
}

export function* requireRunKey(runId: string): SqlScript<RunKey> {
  const row = yield* get("SELECT run_key FROM runs WHERE run_id = ?", runId);
  if (row === null) throw yield* missingRun(runId);
  return row.value("run_key") as RunKey;
}

export function parseJson(text: string | null): Json {
  return text === null ? null : (JSON.parse(text) as Json);
}
