import { decisionOf, type Person, personFacts } from "../../../core/person.ts";
import { decideCancel } from "../../../core/run/cancel-decision.ts";
import { toolCallId } from "../../../core/step-path.ts";
import type { CancelOutcome, Fence } from "../../store.ts";
import type { Leases } from "../leases.ts";
import { all, exists, get, type SqlScript } from "../script.ts";
import { leftOpen } from "../tables/fence.ts";
import { returnMessages } from "../tables/message-rows.ts";
import { assertHere } from "../tables/moved-run.ts";
import { endWaiting } from "../tables/run-budgets.ts";
import { readPartsOfRecord, requireRecord, savedRecord } from "../tables/run-record.ts";
import { findRun, type RunRow, requireRun, rowToLeave, saveRun } from "../tables/run-row.ts";
import { withdrawWaits } from "../tables/tool-call-rows.ts";
import { changeRow, type Transaction } from "../transaction.ts";
import { leaveRunningCalls, runningCalls } from "./in-doubt.ts";
import { endAttempt, markRunningSteps, settleOpenCalls } from "./left-open.ts";

/**
 * Gives the run up in good order: it keeps its status, as if its worker had died, but the next worker need not wait.
 * Model calls that were certainly not sent are charged nothing, and such tool calls are not in doubt.
 */
export function* interruptRun(tx: Transaction, fence: Fence): SqlScript<void> {
  const row = yield* rowToLeave(tx, fence);
  if (row.cancelRequestedAt !== null) {
    yield* endAbandoned(tx, row, cancelRequestedBy(row));
    return;
  }
  const left = yield* leftOpen(tx.leases, row);
  yield* settleOpenCalls(tx, row, left);
  const { facts } = yield* leaveRunningCalls(tx, row, left);
  endAttempt(tx, row, "interrupted");
  freeLease(row);
  saveRun(tx, row, "run.interrupted", { epoch: fence.epoch, ...facts });
}

/** The runs that a store has not released, for when it closes. */
export function* runsOf(owner: string): SqlScript<Fence[]> {
  const rows = yield* all("SELECT run_id, epoch FROM runs WHERE status = 'running' AND owner = ?", owner);
  return rows.map((row) => ({ runId: row.text("run_id"), epoch: row.int("epoch") }));
}

/** True if a run is still held by this owner. */
export function* isNeeded(ownerId: string): SqlScript<boolean> {
  return yield* exists(
    "SELECT 1 AS found FROM runs WHERE status = 'running' AND owner LIKE ? LIMIT 1",
    `%/${ownerId}`,
  );
}

/** True if a living process holds the run. */
export function* isRunHeld(leases: Leases, now: number, runId: string): SqlScript<boolean> {
  const run = yield* findRun(runId);
  return run !== null && leases.isHeld(run, now);
}

/** The owner of a run, to check whether it lives. */
export function* leaseOf(runId: string): SqlScript<{ owner: string; renewedAt: number } | null> {
  const row = yield* get(
    "SELECT owner, lease_until - lease_ms AS renewed_at FROM runs WHERE run_id = ?",
    runId,
  );
  const owner = row?.optionalText("owner") ?? null;
  return row === null || owner === null ? null : { owner, renewedAt: row.int("renewed_at") };
}

export function* requestCancel(tx: Transaction, runId: string, person: Person): SqlScript<CancelOutcome> {
  const decision = decisionOf(person, tx.now);
  const row = yield* requireRun(runId);
  yield* assertHere(row);
  const { kind } = decideCancel(row.status, tx.leases.isHeld(row, tx.now));
  switch (kind) {
    case "over":
      return { kind, run: yield* requireRecord(runId) };
    case "requested": {
      const underWay = yield* runningCalls(row);
      row.cancelRequestedAt = tx.now;
      row.cancelRequestedBy = decision.name;
      saveRun(tx, row, "run.cancel_requested", personFacts(decision));
      return { kind, owner: row.owner ?? "", underWay };
    }
    case "ended": {
      const parts = yield* readPartsOfRecord(row);
      const inDoubt = yield* endAbandoned(tx, row, decision.name);
      return { kind, run: savedRecord(tx, row, parts), inDoubt };
    }
  }
}

export function cancelRequestedBy(row: RunRow): string {
  return row.cancelRequestedBy ?? "somebody";
}

/** Cancels a run that no process holds, as a new owner would find it: calls that were running may have happened. */
export function* endAbandoned(tx: Transaction, row: RunRow, by: string): SqlScript<string[]> {
  const left = yield* leftOpen(tx.leases, row);
  yield* settleOpenCalls(tx, row, left);
  const { facts, inDoubt } = yield* leaveRunningCalls(tx, row, left);
  yield* withdrawWaits(tx, row, null);
  yield* markRunningSteps(tx, row, "failed", null);
  yield* failBlockedSteps(tx, row);
  row.epoch += 1;
  freeLease(row);
  row.status = "cancelled";
  row.error = null;
  endWaiting(row, tx.now);
  endCancelRequest(row);
  row.resumeRequest = null;
  yield* returnMessages(tx, row);
  saveRun(tx, row, "run.cancelled", { by, ...facts });
  return inDoubt.map(({ step, turn, call }) => toolCallId(row.runId, step, turn, call));
}

/** A step that was blocked keeps its error. */
function* failBlockedSteps(tx: Transaction, row: RunRow): SqlScript<void> {
  const blocked = yield* all(
    `SELECT step_no, error_code, error_detail FROM run_steps
      WHERE run_key = ? AND status = 'blocked' ORDER BY step_no`,
    row.key,
  );
  for (const step of blocked) {
    const state = {
      status: "failed",
      updated_at: tx.now,
      error_code: step.optionalText("error_code"),
      error_detail: step.optionalText("error_detail"),
    };
    changeRow(tx, row, "run_steps", { step_no: step.int("step_no") }, state);
  }
}

/** No worker has the run any more. */
export function freeLease(row: RunRow): void {
  row.owner = null;
  row.leaseUntil = 0;
  row.isLeaseNew = true;
  row.marks = null;
}

/** The request was met, or a claim has overridden it. */
export function endCancelRequest(row: RunRow): void {
  row.cancelRequestedAt = null;
  row.cancelRequestedBy = null;
}
