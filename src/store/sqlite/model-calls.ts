import type { Quota } from "../../core/quota.ts";
import type { ChargeBasis } from "../../core/usage.ts";
import type { Charge, ModelCallRecord, ModelCallSettlement, TurnOpened, TurnOpening } from "../store.ts";
import type { Database, Row } from "./database.ts";
import { amount, type RunRow } from "./run-row.ts";

/** Reserves for one more try at the turn, if the quota allows it. */
export function openModelCall(
  database: Database,
  run: RunRow,
  now: number,
  opening: TurnOpening,
): TurnOpened {
  const { stepKey, turnIndex, reserve } = opening;
  const reservation = run.quota.reserve(reserve);
  if (reservation.kind === "denied") {
    return {
      kind: "denied",
      unit: reservation.unit,
      wanted: reservation.wanted,
      remaining: reservation.remaining,
    };
  }
  run.quota = reservation.quota;
  const last = database.get(
    "SELECT max(attempt) AS attempt FROM model_calls WHERE step_no = ? AND turn_index = ?",
    stepKey,
    turnIndex,
  );
  const attempt = (last?.optionalInt("attempt") ?? 0) + 1;
  database.run(
    `INSERT INTO model_calls (step_no, turn_index, attempt, opened_at, reserved_tokens, reserved_micro_dollars)
     VALUES (?, ?, ?, ?, ?, ?)`,
    stepKey,
    turnIndex,
    attempt,
    now,
    reserve.tokens,
    reserve.microDollars,
  );
  return { kind: "opened", attempt, reserved: reserve };
}

/** Charges a call and ends its reservation. A call that is settled already stops the intent: one reclaim, ever. */
export function settle(
  database: Database,
  quota: Quota,
  now: number,
  settlement: ModelCallSettlement,
): Quota {
  const { stepKey, turnIndex, attempt, charge } = settlement;
  const open = database.get(
    `SELECT reserved_tokens, reserved_micro_dollars FROM model_calls
      WHERE step_no = ? AND turn_index = ? AND attempt = ? AND basis IS NULL`,
    stepKey,
    turnIndex,
    attempt,
  );
  if (open === null)
    throw new Error(`Try ${attempt} of turn ${turnIndex} is not open: it cannot be settled twice.`);
  database.run(
    `UPDATE model_calls SET settled_at = ?, basis = ?, charged_tokens = ?, charged_micro_dollars = ?,
            input_tokens = ?, output_tokens = ?, cached_input_tokens = ?, reasoning_tokens = ?
      WHERE step_no = ? AND turn_index = ? AND attempt = ?`,
    now,
    charge.basis,
    charge.amount.tokens,
    charge.amount.microDollars,
    charge.usage.inputTokens,
    charge.usage.outputTokens,
    charge.usage.cachedInputTokens,
    charge.usage.reasoningTokens,
    stepKey,
    turnIndex,
    attempt,
  );
  return quota.reclaim(amount(open, "reserved"), charge.amount);
}

/** Calls that were opened and not settled. Only turns after the last commit can have one. */
export function openModelCalls(
  database: Database,
  runNo: number,
): { stepNo: number; record: ModelCallRecord }[] {
  const rows = database.all(
    `SELECT model_calls.*, step_path FROM run_steps
       JOIN granular_states USING (step_no)
       JOIN model_calls ON model_calls.step_no = run_steps.step_no AND model_calls.turn_index > granular_states.turn_index
      WHERE run_no = ? AND basis IS NULL`,
    runNo,
  );
  return rows.map((row) => ({ stepNo: row.int("step_no"), record: modelCallRecord(row) }));
}

export function modelCallRecord(row: Row): ModelCallRecord {
  return {
    stepPath: row.text("step_path"),
    turnIndex: row.int("turn_index"),
    attempt: row.int("attempt"),
    reserved: amount(row, "reserved"),
    charge: chargeOf(row),
    openedAt: row.int("opened_at"),
    settledAt: row.optionalInt("settled_at"),
  };
}

function chargeOf(row: Row): Charge | null {
  const basis = row.optionalText("basis");
  if (basis === null) return null;
  return {
    basis: basis as ChargeBasis,
    amount: amount(row, "charged"),
    usage: {
      inputTokens: row.int("input_tokens"),
      outputTokens: row.int("output_tokens"),
      cachedInputTokens: row.int("cached_input_tokens"),
      reasoningTokens: row.int("reasoning_tokens"),
    },
  };
}
