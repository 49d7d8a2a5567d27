import type { StoredError } from "../../../core/errors.ts";
import { addAmount, chargeFor, NOTHING } from "../../../core/usage/usage.ts";
import type { LeftBehind, ModelCallRecord, StepStatus } from "../../store.ts";
import type { Database } from "../database.ts";
import type { AbandonedAttempts, Leases } from "../leases.ts";
import { MODEL_CALL } from "../sent-marks.ts";
import { coverRow } from "../tables/event-rows.ts";
import { openModelCalls, settleFailedCall } from "../tables/model-calls.ts";
import { findRun, type RunRow, runNotFound } from "../tables/run-row.ts";
import { unsentCalls } from "./in-doubt.ts";

/** Settles the open attempts of model calls. Returns those that are charged although no answer is known. */
export function settleOpenCalls(
  database: Database,
  row: RunRow,
  now: number,
  left: AbandonedAttempts,
): ModelCallRecord[] {
  return openModelCalls(database, row.runNo).flatMap(({ stepKey, record }) => {
    const isLost = mayBeSent(left, stepKey, record);
    const charge = chargeFor({ kind: isLost ? "unanswered" : "not_sent" }, record.reserved, () => NOTHING);
    settleFailedCall(database, row, now, { ...record, stepKey, charge });
    return isLost ? [{ ...record, charge, settledAt: now }] : [];
  });
}

/** What claiming the run now would do about the work its worker left open. */
export function readLeftBehind(database: Database, leases: Leases, runId: string): LeftBehind {
  const row = findRun(database, runId);
  if (row === null) throw runNotFound(runId);
  const left = leases.leftOpen(row);
  const lost = openModelCalls(database, row.runNo).filter(({ stepKey, record }) =>
    mayBeSent(left, stepKey, record),
  );
  return {
    chargedAsLost: lost.reduce((sum, { record }) => addAmount(sum, record.reserved), NOTHING),
    unsent: unsentCalls(database, row, left),
  };
}

function mayBeSent(
  left: AbandonedAttempts,
  stepKey: number,
  { turnIndex, attempt }: Pick<ModelCallRecord, "turnIndex" | "attempt">,
): boolean {
  return left.mayHaveSent({ stepKey, turnIndex, callIndex: MODEL_CALL, attempt });
}

/** Sets the status of the steps that were running. */
export function markRunningSteps(
  database: Database,
  row: RunRow,
  now: number,
  status: StepStatus,
  error: StoredError | null,
): void {
  const steps = database.all(
    `UPDATE run_steps SET status = ?, updated_at = ?, error_code = ?, error_detail = ?
      WHERE run_no = ? AND status = 'running' RETURNING step_no`,
    status,
    now,
    error?.code ?? null,
    error?.message ?? null,
    row.runNo,
  );
  for (const step of steps) coverRow(row, "step", step.int("step_no"));
}

/** Ends the run attempt of a worker that has stopped. */
export function endAttempt(database: Database, row: RunRow, now: number, status: string): void {
  database.run(
    "UPDATE attempts SET ended_at = ?, end_status = ? WHERE run_no = ? AND epoch = ?",
    now,
    status,
    row.runNo,
    row.epoch,
  );
  coverRow(row, "attempt", row.runNo, row.epoch);
}
