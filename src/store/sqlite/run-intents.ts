import { allowanceAfter, earlier } from "../../core/allowance.ts";
import { limitOfBudgets, NO_BUDGETS, wallclockOf } from "../../core/budget.ts";
import { canonicalJson } from "../../core/canonical-json.ts";
import type { StoredError } from "../../core/errors.ts";
import { isJsonObject, type Json } from "../../core/json.ts";
import { Quota, stricter } from "../../core/quota.ts";
import { parseToolCallId, toolCallId } from "../../core/step-path.ts";
import { chargeFor, type ModelCallEnd, NOTHING } from "../../core/usage.ts";
import type {
  AttemptReason,
  CancelOutcome,
  Claim,
  ClaimOptions,
  ClaimOutcome,
  Fence,
  ModelCallRecord,
  NewRun,
  Person,
  RunEnd,
  RunRecord,
  RunStatus,
  StepStatus,
} from "../store.ts";
import type { Database } from "./database.ts";
import { digestOf } from "./digest.ts";
import { callsUnderWay, doubtRunningCalls } from "./in-doubt.ts";
import { openModelCalls, settleFailedCall } from "./model-calls.ts";
import type { OwnerLock } from "./owner-lock.ts";
import { allow, allowanceOf, endWaiting } from "./run-budgets.ts";
import {
  fencedRun,
  fencedRunRow,
  findRun,
  getRun,
  NO_EVENT_HASH,
  parseJson,
  type RunRow,
  recordEvent,
  runNotFound,
  saveRun,
} from "./run-row.ts";
import { CODE_STEP_TURN, withdrawWaits } from "./tool-call-rows.ts";
import { openWaits, queueIfAnswered, withdrawBudgetWaits } from "./wait-intents.ts";

export function createRun(
  database: Database,
  lock: OwnerLock,
  now: number,
  run: NewRun,
): { kind: "created"; claim: Claim } | { kind: "exists" } {
  if (findRun(database, run.runId) !== null) return { kind: "exists" };
  const budgets = run.spec?.budgets ?? NO_BUDGETS;
  const spec = (run.spec ?? null) === null ? null : canonicalJson(run.spec);
  // It refuses what is no whole number; SQLite would store NaN as no limit.
  const { limit } = new Quota(stricter(run.limit, limitOfBudgets(budgets)));
  const wallclock = wallclockOf(budgets);
  database.run(
    `INSERT INTO runs (run_id, created_at, updated_at, status, pipeline, entrypoint, input_hash, owner, epoch,
                       lease_until, limit_tokens, limit_micro_dollars, deadline_at, budgets, event_hash)
     VALUES (?, ?, ?, 'running', ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?)`,
    run.runId,
    now,
    now,
    run.pipeline,
    run.entrypoint,
    run.inputHash,
    lock.owner,
    now + run.leaseMs,
    limit.tokens,
    limit.microDollars,
    earlier(run.deadline ?? null, wallclock === null ? null : now + wallclock),
    spec === null ? null : canonicalJson(budgets),
    NO_EVENT_HASH,
  );
  const row = mustFind(database, run.runId);
  const input = canonicalJson(run.input);
  database.run(
    "INSERT INTO run_inputs VALUES (?, ?, ?, ?)",
    row.runNo,
    input,
    canonicalJson(run.shape),
    spec,
  );
  recordAttempt(database, row, lock.owner, now, null);
  saveRun(database, row, now, "run.created", {
    pipeline: run.pipeline,
    owner: lock.owner,
    epoch: row.epoch,
    input: digestOf(input),
    ...(spec === null ? {} : { spec: digestOf(spec) }),
  });
  return { kind: "created", claim: claimOf(database, row) };
}

export function claimRun(
  database: Database,
  lock: OwnerLock,
  now: number,
  runId: string,
  options: ClaimOptions,
): ClaimOutcome {
  const row = findRun(database, runId);
  if (row === null) return { kind: "not_found" };
  if (isHeld(row, lock, now)) return { kind: "busy", owner: row.owner ?? "", until: row.leaseUntil };
  // Its worker died before it saw that somebody wanted it to end. Only who wants a cancelled run goes on with it.
  if (row.cancelRequestedAt !== null && !options.from.includes("cancelled"))
    endAbandoned(database, lock, now, row, whoWantsItToEnd(database, row));
  const run = getRun(database, runId);
  if (run !== null && !options.from.includes(row.status)) return { kind: "refused", run };

  // Whose lock can be taken is dead, and so is what it had under way; one that fell silent may still be at work.
  const isDead = row.owner !== null && (row.leaseUntil === DEAD || lock.isDead(row.owner));
  const attempt = options.attempt === undefined ? null : reasoned(row, options.attempt);
  endWaiting(row, now);
  row.epoch += 1;
  row.owner = lock.owner;
  row.leaseUntil = now + options.leaseMs;
  row.status = "running";
  row.error = null;
  // Whoever goes on with it wants it to go on.
  row.cancelRequestedAt = null;
  allow(row, allowanceAfter(allowanceOf(row), now, options));
  const raised = Object.entries(options.budgets ?? {});
  withdrawBudgetWaits(
    database,
    row,
    now,
    raised.map(([name]) => name),
  );
  // What the earlier owner had under way may have reached the provider: nobody here knows, so it is paid for.
  const chargedAsLost = settleOpenCalls(database, row, now, { kind: "unanswered" });
  const inDoubt = doubtRunningCalls(database, row, now, isDead);
  recordAttempt(database, row, lock.owner, now, attempt);
  saveRun(database, row, now, "run.claimed", {
    owner: lock.owner,
    epoch: row.epoch,
    ...attempt,
    ...(raised.length === 0 ? {} : { budgets: Object.fromEntries(raised) }),
    ...(inDoubt.length === 0 ? {} : { inDoubt }),
    chargedAsLost: chargedAsLost.map(({ stepPath, turnIndex, attempt, reserved }) => ({
      stepPath,
      turnIndex,
      attempt,
      reserved,
    })),
  });
  const foundInDoubt = inDoubt.map(({ step, turn, call }) => toolCallId(runId, step, turn, call));
  return { kind: "claimed", claim: claimOf(database, row), chargedAsLost, foundInDoubt };
}

export function keepTrace(database: Database, now: number, fence: Fence, traceParent: string): void {
  const run = fencedRun(database, fence);
  const { epoch } = fence;
  recordEvent(database, run, now, "run.traced", { epoch, traceParent });
  database.run(
    "UPDATE attempts SET trace_parent = ? WHERE run_no = ? AND epoch = ?",
    traceParent,
    run.runNo,
    epoch,
  );
}

export function renewLease(database: Database, now: number, fence: Fence, leaseMs: number): void {
  const run = fencedRun(database, fence);
  const until = now + leaseMs;
  recordEvent(database, run, now, "lease.renewed", { epoch: fence.epoch, until });
  database.run("UPDATE runs SET lease_until = ? WHERE run_no = ?", until, run.runNo);
}

export function pinShape(database: Database, now: number, fence: Fence, shape: Json): void {
  const row = fencedRunRow(database, fence);
  database.run("UPDATE run_inputs SET shape = ? WHERE run_no = ?", canonicalJson(shape), row.runNo);
  saveRun(database, row, now, "run.reshaped", {});
}

export function releaseRun(database: Database, now: number, fence: Fence, given: RunEnd): void {
  const row = fencedRunRow(database, fence);
  // Somebody wants it to end, and it was about to be left for others.
  const isCancelled = row.cancelRequestedAt !== null && ["queued", "waiting"].includes(given.status);
  const end: RunEnd = isCancelled ? { status: "cancelled", error: null } : given;
  settleOpenCalls(database, row, now, { kind: "not_sent" });
  // A tool that was cancelled, or whose outcome the store did not take, may have done its work or be at it still.
  const inDoubt = doubtRunningCalls(database, row, now, false);
  const waits = end.status === "waiting" ? openWaits(database, row, now, end.waits) : [];
  const error = "error" in end ? end.error : null;
  if (end.status === "failed") supersedeCall(database, row, error);
  // Whoever wanted the run to end wants no answers; one that was only interrupted may still get them.
  const isOver = end.status === "succeeded" || (end.status === "cancelled" && row.cancelRequestedAt !== null);
  if (isOver) withdrawWaits(database, row, now, null);
  if (end.status !== "succeeded") markRunningSteps(database, row, now, STEP_STATUS[end.status], error);
  database.run(
    "UPDATE attempts SET ended_at = ?, end_status = ? WHERE run_no = ? AND epoch = ?",
    now,
    end.status,
    row.runNo,
    row.epoch,
  );
  row.status = end.status;
  row.owner = null;
  row.leaseUntil = 0;
  row.output = end.status === "succeeded" ? canonicalJson(end.output) : null;
  row.context = end.status === "succeeded" ? canonicalJson(end.context) : null;
  row.error = error === null ? null : canonicalJson(error);
  if (end.status === "waiting") row.waitingSince = now;
  row.cancelRequestedAt = null;
  // Every question may have been answered while the worker was on its way out.
  if (end.status === "waiting" && end.waits.length > 0) queueIfAnswered(database, row, now);
  const code = error?.code ?? null;
  saveRun(database, row, now, `run.${end.status}`, {
    ...(row.output === null ? {} : { output: digestOf(row.output, row.context) }),
    ...(code === null ? {} : { code }),
    ...(inDoubt.length === 0 ? {} : { inDoubt }),
    ...(waits.length === 0 ? {} : { waits }),
  });
}

/** What a step that was under way is, once its run is not. */
const STEP_STATUS = {
  queued: "ready",
  waiting: "blocked",
  failed: "failed",
  cancelled: "failed",
} as const satisfies Partial<Record<RunStatus, StepStatus>>;

export function requestCancel(
  database: Database,
  lock: OwnerLock,
  now: number,
  runId: string,
  { by = "somebody" }: Person,
): CancelOutcome {
  const row = findRun(database, runId);
  if (row === null) throw runNotFound(runId);
  const known = getRun(database, runId);
  if (known === null || !["queued", "running", "waiting"].includes(row.status))
    return { kind: "over", run: known as RunRecord };
  database.run("UPDATE runs SET cancel_requested_by = ? WHERE run_no = ?", by, row.runNo);
  if (isHeld(row, lock, now)) {
    row.cancelRequestedAt = now;
    saveRun(database, row, now, "run.cancel_requested", { by });
    return { kind: "requested", owner: row.owner ?? "", underWay: callsUnderWay(database, row) };
  }
  const inDoubt = endAbandoned(database, lock, now, row, by);
  return { kind: "ended", run: getRun(database, runId) as RunRecord, inDoubt };
}

function whoWantsItToEnd(database: Database, { runNo }: RunRow): string {
  const row = database.get("SELECT cancel_requested_by FROM runs WHERE run_no = ?", runNo);
  return row?.optionalText("cancel_requested_by") ?? "somebody";
}

/** Ends a run that nobody has, as a new owner would find it: what the last one had under way may have happened. */
function endAbandoned(database: Database, lock: OwnerLock, now: number, row: RunRow, by: string): string[] {
  const isDead = row.owner !== null && (row.leaseUntil === DEAD || lock.isDead(row.owner));
  settleOpenCalls(database, row, now, { kind: "unanswered" });
  const inDoubt = doubtRunningCalls(database, row, now, isDead);
  withdrawWaits(database, row, now, null);
  markRunningSteps(database, row, now, "failed", null);
  database.run(
    "UPDATE run_steps SET status = 'failed', updated_at = ? WHERE run_no = ? AND status = 'blocked'",
    now,
    row.runNo,
  );
  row.epoch += 1;
  row.owner = null;
  row.leaseUntil = 0;
  row.status = "cancelled";
  row.error = null;
  endWaiting(row, now);
  row.cancelRequestedAt = null;
  saveRun(database, row, now, "run.cancelled", { by, ...(inDoubt.length === 0 ? {} : { inDoubt }) });
  return inDoubt.map(({ step, turn, call }) => toolCallId(row.runId, step, turn, call));
}

/**
 * The failure of this call ended a code step, whose code did not catch it. Met again it would end the step for ever, so
 * whoever resumes asks for the same anew. What a person called failed, or denied, stays so.
 */
function supersedeCall(database: Database, row: RunRow, error: StoredError | null): void {
  const id = error?.code === "tool_failed" ? error.details.toolCallId : null;
  const place = typeof id === "string" ? parseToolCallId(id) : null;
  if (place?.runId !== row.runId || place.turnIndex !== CODE_STEP_TURN) return;
  database.run(
    `UPDATE tool_calls SET superseded = 1
      WHERE turn_index = 0 AND call_index = ?
        AND step_no = (SELECT step_no FROM run_steps WHERE run_no = ? AND step_path = ?)
        AND EXISTS (SELECT 1 FROM receipts WHERE receipts.call_no = tool_calls.call_no
                       AND receipts.status = 'failed' AND source <> 'person')`,
    place.callIndex,
    row.runNo,
    place.path,
  );
}

/** The end of a lease whose owner is known to be dead, once its lock file cannot tell any more. */
const DEAD = 0;

/** Frees the leases of a process that is known to be dead, so that its lock file can go. */
export function releaseDeadOwner(database: Database, lockId: string): void {
  database.run(
    "UPDATE runs SET lease_until = ? WHERE status = 'running' AND owner LIKE '%/' || ?",
    DEAD,
    lockId,
  );
}

/** Whether a living process has the run: its lease runs and its lock, where it has one, is held. */
export function isHeld(
  row: { owner: string | null; leaseUntil: number },
  lock: OwnerLock,
  now: number,
): boolean {
  return row.owner !== null && row.leaseUntil > now && !lock.isDead(row.owner);
}

export function isRunHeld(database: Database, lock: OwnerLock, now: number, runId: string): boolean {
  const run = getRun(database, runId);
  return run !== null && isHeld(run, lock, now);
}

function settleOpenCalls(database: Database, row: RunRow, now: number, end: ModelCallEnd): ModelCallRecord[] {
  return openModelCalls(database, row.runNo).map(({ stepKey, record }) => {
    const charge = chargeFor(end, record.reserved, () => NOTHING);
    settleFailedCall(database, row, now, { ...record, stepKey, charge });
    return { ...record, charge, settledAt: now };
  });
}

function markRunningSteps(
  database: Database,
  row: RunRow,
  now: number,
  status: StepStatus,
  error: StoredError | null,
): void {
  database.run(
    "UPDATE run_steps SET status = ?, updated_at = ?, error_code = ?, error_detail = ? WHERE run_no = ? AND status = 'running'",
    status,
    now,
    error?.code ?? null,
    error?.message ?? null,
    row.runNo,
  );
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
