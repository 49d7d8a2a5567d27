import { canonicalJson } from "../../../core/canonical-json.ts";
import type { StoredError } from "../../../core/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../core/json.ts";
import { parseToolCallId, toolCallId } from "../../../core/step-path.ts";
import { allowanceAfter, earlier } from "../../../core/usage/allowance.ts";
import { limitOfBudgets, NO_BUDGETS, wallclockOf } from "../../../core/usage/budget.ts";
import { Quota, stricter } from "../../../core/usage/quota.ts";
import type {
  AttemptReason,
  Claim,
  ClaimOptions,
  ClaimOutcome,
  Fence,
  ModelCallRecord,
  NewRun,
  RunEnd,
  RunStatus,
  StepStatus,
} from "../../store.ts";
import type { Database } from "../database.ts";
import type { AbandonedAttempts, Leases } from "../leases.ts";
import { digestOf } from "../tables/digest.ts";
import { coverRow } from "../tables/event-rows.ts";
import { allow, allowanceOf, endWaiting } from "../tables/run-budgets.ts";
import {
  fencedRun,
  fencedRunRow,
  findRun,
  getRun,
  NO_EVENT_HASH,
  parseJson,
  type RunRow,
  recordEvent,
  saveRun,
  starterFacts,
} from "../tables/run-row.ts";
import { CODE_STEP_TURN, withdrawWaits } from "../tables/tool-call-rows.ts";
import { assertOpenPart } from "../verify/verify-open.ts";
import { leaveRunningCalls } from "./in-doubt.ts";
import { endAttempt, markRunningSteps, settleOpenCalls } from "./left-open.ts";
import { cancelRequestedBy, endAbandoned } from "./run-interruption.ts";
import { openWaits, queueIfAnswered, withdrawBudgetWaits } from "./wait-intents.ts";

export function createRun(
  database: Database,
  leases: Leases,
  now: number,
  run: NewRun,
): { kind: "created"; claim: Claim } | { kind: "exists" } {
  if (findRun(database, run.runId) !== null) return { kind: "exists" };
  const spec = (run.spec ?? null) === null ? null : canonicalJson(run.spec);
  const row = insertRun(database, leases, now, run);
  const input = canonicalJson(run.input);
  database.run(
    "INSERT INTO run_inputs VALUES (?, ?, ?, ?)",
    row.runNo,
    input,
    canonicalJson(run.shape),
    spec,
  );
  coverRow(row, "shape", row.runNo);
  recordAttempt(database, row, leases.owner, now, null);
  saveRun(database, row, now, "run.created", {
    pipeline: run.pipeline,
    owner: leases.owner,
    epoch: row.epoch,
    ...marksFacts(row),
    input: digestOf(input),
    ...(spec === null ? {} : { spec: digestOf(spec) }),
    ...starterFacts(run.startedBy, now),
  });
  return { kind: "created", claim: claimOf(database, row) };
}

/** Inserts the row of a new run, claimed by this owner under the first epoch. */
function insertRun(database: Database, leases: Leases, now: number, run: NewRun): RunRow {
  const budgets = run.spec?.budgets ?? NO_BUDGETS;
  // It refuses anything but whole numbers; SQLite would store NaN as no limit.
  const { limit } = new Quota(stricter(run.limit, limitOfBudgets(budgets)));
  const wallclock = wallclockOf(budgets);
  database.run(
    `INSERT INTO runs (run_id, created_at, updated_at, status, pipeline, entrypoint, input_hash, owner, epoch,
                       lease_until, lease_ms, marks, limit_tokens, limit_micro_dollars, deadline_at, budgets, event_hash)
     VALUES (?, ?, ?, 'running', ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?)`,
    run.runId,
    now,
    now,
    run.pipeline,
    run.entrypoint,
    run.inputHash,
    leases.owner,
    now + run.leaseMs,
    run.leaseMs,
    run.marksEffects === true ? leases.marks : null,
    limit.tokens,
    limit.microDollars,
    earlier(run.deadline ?? null, wallclock === null ? null : now + wallclock),
    (run.spec ?? null) === null ? null : canonicalJson(budgets),
    NO_EVENT_HASH,
  );
  return mustFind(database, run.runId);
}

/** The identity of the owner's marks file, for the event of its claim. */
function marksFacts({ marks }: RunRow): { marks?: string } {
  return marks === null ? {} : { marks };
}

export function claimRun(
  database: Database,
  leases: Leases,
  now: number,
  runId: string,
  options: ClaimOptions,
): ClaimOutcome {
  const row = findRun(database, runId);
  if (row === null) return { kind: "not_found" };
  if (leases.isHeld(row, now)) return { kind: "busy", owner: row.owner ?? "", until: leases.endOf(row, now) };
  assertOpenPart(database, row);
  // Its worker died before it saw the cancel request. Only a claim that accepts cancelled runs resumes it.
  if (row.cancelRequestedAt !== null && !options.from.includes("cancelled"))
    endAbandoned(database, leases, now, row, cancelRequestedBy(database, row));
  const run = getRun(database, runId);
  if (run !== null && !options.from.includes(row.status)) return { kind: "refused", run };

  const left = leases.leftOpen(row);
  const attempt = options.attempt === undefined ? null : reasoned(row, options.attempt);
  takeLease(row, leases, now, options);
  const raised = Object.entries(options.budgets ?? {});
  const raisedNames = raised.map(([name]) => name);
  withdrawBudgetWaits(database, row, now, raisedNames);
  // Requests that the earlier owner may have sent are charged: it is unknown whether the provider answered them.
  const chargedAsLost = settleOpenCalls(database, row, now, left);
  const leaving = leaveRunningCalls(database, row, now, left);
  recordAttempt(database, row, leases.owner, now, attempt);
  saveRun(database, row, now, "run.claimed", {
    owner: leases.owner,
    epoch: row.epoch,
    ...marksFacts(row),
    ...attempt,
    ...(raised.length === 0 ? {} : { budgets: Object.fromEntries(raised) }),
    ...leaving.facts,
    chargedAsLost: chargedAsLost.map(lostCallFacts),
  });
  const foundInDoubt = leaving.inDoubt.map(({ step, turn, call }) => toolCallId(runId, step, turn, call));
  return { kind: "claimed", claim: claimOf(database, row), chargedAsLost, foundInDoubt };
}

/** Gives the run to this owner, under a new epoch and with what the claim allows. */
function takeLease(row: RunRow, leases: Leases, now: number, options: ClaimOptions): void {
  endWaiting(row, now);
  row.epoch += 1;
  row.owner = leases.owner;
  row.leaseUntil = now + options.leaseMs;
  row.leaseMs = options.leaseMs;
  row.marks = options.marksEffects === true ? leases.marks : null;
  row.status = "running";
  row.error = null;
  // A claim overrides an earlier cancel request.
  row.cancelRequestedAt = null;
  allow(row, allowanceAfter(allowanceOf(row), now, options));
}

function lostCallFacts({ stepPath, turnIndex, attempt, reserved }: ModelCallRecord): JsonObject {
  return { stepPath, turnIndex, attempt, reserved };
}

/** The marks of this owner can no longer be written: from now on everything it begins may have been sent. */
export function turnMarksOff(database: Database, now: number, fence: Fence): void {
  const row = fencedRunRow(database, fence);
  if (row.marks === null) return;
  row.marks = null;
  saveRun(database, row, now, "marks.off", { epoch: fence.epoch });
}

export function keepTrace(database: Database, now: number, fence: Fence, traceParent: string): void {
  const run = fencedRun(database, fence);
  const { epoch } = fence;
  database.run(
    "UPDATE attempts SET trace_parent = ? WHERE run_no = ? AND epoch = ?",
    traceParent,
    run.runNo,
    epoch,
  );
  coverRow(run, "attempt", run.runNo, epoch);
  recordEvent(database, run, now, "run.traced", { epoch, traceParent });
}

export function renewLease(database: Database, now: number, fence: Fence, leaseMs: number): void {
  const run = fencedRun(database, fence);
  const until = now + leaseMs;
  database.run("UPDATE runs SET lease_until = ?, lease_ms = ? WHERE run_no = ?", until, leaseMs, run.runNo);
  coverRow(run, "run", run.runNo);
  recordEvent(database, run, now, "lease.renewed", { epoch: fence.epoch, until });
}

export function pinShape(database: Database, now: number, fence: Fence, shape: Json): void {
  const row = fencedRunRow(database, fence);
  database.run("UPDATE run_inputs SET shape = ? WHERE run_no = ?", canonicalJson(shape), row.runNo);
  coverRow(row, "shape", row.runNo);
  saveRun(database, row, now, "run.reshaped", {});
}

export function releaseRun(
  database: Database,
  leases: Leases,
  now: number,
  fence: Fence,
  given: RunEnd,
): void {
  const row = fencedRunRow(database, fence);
  const end = endUnlessCancelled(row, given);
  settleOpenCalls(database, row, now, NOTHING_OPEN);
  // A tool that was cancelled, or whose outcome could not be stored, may have done its work or may still be running.
  const { facts } = leaveRunningCalls(database, row, now, leases.leftOpen(row));
  const waits = end.status === "waiting" ? openWaits(database, row, now, end.waits) : [];
  const error = "error" in end ? end.error : null;
  if (end.status === "failed") supersedeCall(database, row, error);
  // A cancelled run needs no answers; one that was only interrupted may still get them.
  const isOver = end.status === "succeeded" || (end.status === "cancelled" && row.cancelRequestedAt !== null);
  if (isOver) withdrawWaits(database, row, now, null);
  if (end.status !== "succeeded") markRunningSteps(database, row, now, STEP_STATUS[end.status], error);
  endAttempt(database, row, now, end.status);
  row.status = end.status;
  row.owner = null;
  row.leaseUntil = 0;
  row.marks = null;
  row.output = end.status === "succeeded" ? canonicalJson(end.output) : null;
  row.context = end.status === "succeeded" ? canonicalJson(end.context) : null;
  row.error = error === null ? null : canonicalJson(error);
  if (end.status === "waiting") row.waitingSince = now;
  row.cancelRequestedAt = null;
  // All waits may have been answered while the worker was stopping.
  if (end.status === "waiting" && end.waits.length > 0) queueIfAnswered(database, row, now);
  const code = error?.code ?? null;
  saveRun(database, row, now, `run.${end.status}`, {
    ...(row.output === null ? {} : { output: digestOf(row.output, row.context) }),
    ...(code === null ? {} : { code }),
    ...facts,
    ...(waits.length === 0 ? {} : { waits }),
  });
}

/** A cancel request takes effect if the worker was about to leave the run to others. */
function endUnlessCancelled({ cancelRequestedAt }: RunRow, given: RunEnd): RunEnd {
  const isCancelled = cancelRequestedAt !== null && ["queued", "waiting"].includes(given.status);
  return isCancelled ? { status: "cancelled", error: null } : given;
}

/** A worker that releases its run has settled what it sent. */
const NOTHING_OPEN: AbandonedAttempts = { mayHaveSent: () => false, hasEnded: true };

/** The new status of a step that was running, by the new status of its run. */
const STEP_STATUS = {
  queued: "ready",
  waiting: "blocked",
  failed: "failed",
  cancelled: "failed",
} as const satisfies Partial<Record<RunStatus, StepStatus>>;

/**
 * The failure of this call ended a code step whose code did not catch it. Reused on resume, its receipt would fail
 * the step forever, so a resumed step makes the same call again. A call that a person denied or settled as failed
 * stays so.
 */
function supersedeCall(database: Database, row: RunRow, error: StoredError | null): void {
  const id = error?.code === "tool_failed" ? error.details.toolCallId : null;
  const place = typeof id === "string" ? parseToolCallId(id) : null;
  if (place?.runId !== row.runId || place.turnIndex !== CODE_STEP_TURN) return;
  const superseded = database.all(
    `UPDATE tool_calls SET superseded = 1
      WHERE turn_index = 0 AND call_index = ?
        AND step_no = (SELECT step_no FROM run_steps WHERE run_no = ? AND step_path = ?)
        AND EXISTS (SELECT 1 FROM receipts WHERE receipts.call_no = tool_calls.call_no
                       AND receipts.status = 'failed' AND source <> 'person') RETURNING call_no`,
    place.callIndex,
    row.runNo,
    place.path,
  );
  for (const call of superseded) coverRow(row, "call", call.int("call_no"));
}

function reasoned({ status, error }: RunRow, { resumedFrom, reason }: AttemptReason): AttemptReason {
  if (reason !== null) return { resumedFrom, reason };
  if (status === "running") return { resumedFrom, reason: "interrupted" };
  const code = isJsonObject(parseJson(error)) ? (parseJson(error) as StoredError).code : null;
  return { resumedFrom, reason: code === null ? status : `${status}: ${code}` };
}

function recordAttempt(
  database: Database,
  row: RunRow,
  owner: string,
  now: number,
  why: AttemptReason | null,
): void {
  database.run(
    "INSERT INTO attempts (run_no, epoch, owner, started_at, resumed_from, reason) VALUES (?, ?, ?, ?, ?, ?)",
    row.runNo,
    row.epoch,
    owner,
    now,
    why?.resumedFrom ?? null,
    why?.reason ?? null,
  );
  coverRow(row, "attempt", row.runNo, row.epoch);
}

function claimOf(database: Database, row: RunRow): Claim {
  const run = getRun(database, row.runId);
  if (run === null) throw new Error(`Run ${row.runId} was written and is not there.`);
  return { epoch: row.epoch, run };
}

function mustFind(database: Database, runId: string): RunRow {
  const row = findRun(database, runId);
  if (row === null) throw new Error(`Run ${runId} was inserted and is not there.`);
  return row;
}
