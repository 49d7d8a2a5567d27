import { decisionOf, type Person, personFacts } from "../../../core/person.ts";
import { toolCallId } from "../../../core/step-path.ts";
import type { CancelOutcome, Fence, RunRecord } from "../../store.ts";
import type { Database } from "../database.ts";
import type { Leases } from "../leases.ts";
import { coverRow } from "../tables/event-rows.ts";
import { endWaiting } from "../tables/run-budgets.ts";
import { fencedRunRow, findRun, getRun, type RunRow, requireRun, saveRun } from "../tables/run-row.ts";
import { withdrawWaits } from "../tables/tool-call-rows.ts";
import { leaveRunningCalls, runningCalls } from "./in-doubt.ts";
import { endAttempt, markRunningSteps, settleOpenCalls } from "./left-open.ts";

/**
 * Gives the run up in good order: it keeps its status, as if its worker had died, but the next worker need not wait.
 * Model calls that were certainly not sent are charged nothing, and such tool calls are not in doubt.
 */
export function interruptRun(database: Database, leases: Leases, now: number, fence: Fence): void {
  const row = fencedRunRow(database, fence);
  if (row.cancelRequestedAt !== null) {
    endAbandoned(database, leases, now, row, cancelRequestedBy(database, row));
    return;
  }
  const left = leases.leftOpen(row);
  settleOpenCalls(database, row, now, left);
  const { facts } = leaveRunningCalls(database, row, now, left);
  endAttempt(database, row, now, "interrupted");
  row.owner = null;
  row.leaseUntil = 0;
  row.marks = null;
  saveRun(database, row, now, "run.interrupted", { epoch: fence.epoch, ...facts });
}

/** The runs that a store has not released, for when it closes. */
export function runsOf(database: Database, owner: string): Fence[] {
  return database
    .all("SELECT run_id, epoch FROM runs WHERE status = 'running' AND owner = ?", owner)
    .map((row) => ({ runId: row.text("run_id"), epoch: row.int("epoch") }));
}

/** True if a run is still held by this owner. */
export function isNeeded(database: Database, ownerId: string): boolean {
  const row = database.get(
    "SELECT 1 AS found FROM runs WHERE status = 'running' AND owner LIKE '%/' || ? LIMIT 1",
    ownerId,
  );
  return row !== null;
}

/** True if a living process holds the run. */
export function isRunHeld(database: Database, leases: Leases, now: number, runId: string): boolean {
  const run = findRun(database, runId);
  return run !== null && leases.isHeld(run, now);
}

/** The owner of a run, to check whether it lives. */
export function ownerOf(database: Database, runId: string): string | null {
  return database.get("SELECT owner FROM runs WHERE run_id = ?", runId)?.optionalText("owner") ?? null;
}

export function requestCancel(
  database: Database,
  leases: Leases,
  now: number,
  runId: string,
  person: Person,
): CancelOutcome {
  const decision = decisionOf(person, now);
  const { name: by } = decision;
  const row = requireRun(database, runId);
  const known = getRun(database, runId);
  if (known === null || !["queued", "running", "waiting"].includes(row.status))
    return { kind: "over", run: known as RunRecord };
  database.run("UPDATE runs SET cancel_requested_by = ? WHERE run_no = ?", by, row.runNo);
  if (leases.isHeld(row, now)) {
    row.cancelRequestedAt = now;
    saveRun(database, row, now, "run.cancel_requested", personFacts(decision));
    return { kind: "requested", owner: row.owner ?? "", underWay: runningCalls(database, row) };
  }
  const inDoubt = endAbandoned(database, leases, now, row, by);
  return { kind: "ended", run: getRun(database, runId) as RunRecord, inDoubt };
}

export function cancelRequestedBy(database: Database, { runNo }: RunRow): string {
  const row = database.get("SELECT cancel_requested_by FROM runs WHERE run_no = ?", runNo);
  return row?.optionalText("cancel_requested_by") ?? "somebody";
}

/** Cancels a run that no process holds, as a new owner would find it: calls that were running may have happened. */
export function endAbandoned(
  database: Database,
  leases: Leases,
  now: number,
  row: RunRow,
  by: string,
): string[] {
  const left = leases.leftOpen(row);
  settleOpenCalls(database, row, now, left);
  const { facts, inDoubt } = leaveRunningCalls(database, row, now, left);
  withdrawWaits(database, row, now, null);
  markRunningSteps(database, row, now, "failed", null);
  const blocked = database.all(
    "UPDATE run_steps SET status = 'failed', updated_at = ? WHERE run_no = ? AND status = 'blocked' RETURNING step_no",
    now,
    row.runNo,
  );
  for (const step of blocked) coverRow(row, "step", step.int("step_no"));
  row.epoch += 1;
  row.owner = null;
  row.leaseUntil = 0;
  row.marks = null;
  row.status = "cancelled";
  row.error = null;
  endWaiting(row, now);
  row.cancelRequestedAt = null;
  saveRun(database, row, now, "run.cancelled", { by, ...facts });
  return inDoubt.map(({ step, turn, call }) => toolCallId(row.runId, step, turn, call));
}
