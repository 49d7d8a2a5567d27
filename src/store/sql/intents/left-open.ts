import type { StoredError } from "../../../core/stored-error.ts";
import { addAmount, chargeFor, NOTHING } from "../../../core/usage/usage.ts";
import type { AttemptRecord, LeftBehind, ModelCallRecord, StepStatus } from "../../store.ts";
import type { AbandonedAttempts, Leases } from "../leases.ts";
import { MODEL_CALL } from "../owners.ts";
import { all, type SqlScript } from "../script.ts";
import { leftOpen } from "../tables/fence.ts";
import { missingRun } from "../tables/missing-run.ts";
import { openModelCalls, settleFailedCall } from "../tables/model-calls.ts";
import { findRun, type RunRow } from "../tables/run-row.ts";
import { changeRow, type Transaction } from "../transaction.ts";
import { unsentCalls } from "./in-doubt.ts";

/** Settles the open attempts of model calls. Returns those that are charged although no answer is known. */
export function* settleOpenCalls(
  tx: Transaction,
  row: RunRow,
  left: AbandonedAttempts,
): SqlScript<ModelCallRecord[]> {
  const lost: ModelCallRecord[] = [];
  for (const { stepKey, record } of yield* openModelCalls(row.key)) {
    const isLost = mayBeSent(left, stepKey, record);
    const charge = chargeFor({ kind: isLost ? "unanswered" : "not_sent" }, record.reserved, () => NOTHING);
    yield* settleFailedCall(tx, row, { ...record, stepKey, charge });
    if (isLost) lost.push({ ...record, charge, settledAt: tx.now });
  }
  return lost;
}

/** What claiming the run now would do about the work its worker left open. */
export function* readLeftBehind(leases: Leases, runId: string): SqlScript<LeftBehind> {
  const row = yield* findRun(runId);
  if (row === null) throw yield* missingRun(runId);
  const left = yield* leftOpen(leases, row);
  const open = yield* openModelCalls(row.key);
  const lost = open.filter(({ stepKey, record }) => mayBeSent(left, stepKey, record));
  return {
    chargedAsLost: lost.reduce((sum, { record }) => addAmount(sum, record.reserved), NOTHING),
    unsent: yield* unsentCalls(row, left),
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
export function* markRunningSteps(
  tx: Transaction,
  row: RunRow,
  status: StepStatus,
  error: StoredError | null,
): SqlScript<void> {
  const steps = yield* all(
    "SELECT step_no FROM run_steps WHERE run_key = ? AND status = 'running' ORDER BY step_no",
    row.key,
  );
  const state = {
    status,
    updated_at: tx.now,
    error_code: error?.code ?? null,
    error_detail: error?.message ?? null,
  };
  for (const step of steps) changeRow(tx, row, "run_steps", { step_no: step.int("step_no") }, state);
}

/** Ends the run attempt of a worker that has stopped. */
export function endAttempt(
  tx: Transaction,
  row: RunRow,
  status: NonNullable<AttemptRecord["endStatus"]>,
): void {
  changeRow(tx, row, "attempts", { epoch: row.epoch }, { ended_at: tx.now, end_status: status });
}
