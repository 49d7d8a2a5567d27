import type { ChargeBasis } from "../../../core/usage/usage.ts";
import type { ModelCallRecord, ModelCallSettlement, TurnOpened, TurnOpening } from "../../store.ts";
import type { Database, Row } from "../database.ts";
import type { GranularStateRow, LastModelCall, RunHead } from "../run-head.ts";
import { coverRow } from "./event-rows.ts";
import { granularState, granularStateRow } from "./granular-state.ts";
import { chargedAmount, reservedAmount } from "./run-row.ts";
import { TURNS_OF_STEP, TURNS_PER_STEP, turnNo } from "./turn-number.ts";

/** Reserves for one attempt of a turn, if the quota allows it. */
export function reserve(run: RunHead, opening: TurnOpening, attempt: number): TurnOpened {
  const reservation = run.quota.reserve(opening.reserve);
  if (reservation.kind === "denied") {
    const { unit, wanted, remaining } = reservation;
    return { kind: "denied", unit, wanted, remaining };
  }
  run.quota = reservation.quota;
  return { kind: "opened", attempt, reserved: opening.reserve };
}

/**
 * Opens a turn on its own. The reservation is in the step's state row, which a commit writes anyway: from the second
 * turn on, opening is part of that commit and costs no page of its own.
 */
export function openModelCall(
  database: Database,
  run: RunHead,
  now: number,
  opening: TurnOpening,
  state: GranularStateRow,
): TurnOpened {
  const { stepKey, turnIndex } = opening;
  const opened = reserve(run, opening, nextAttempt(database, state, turnIndex));
  if (opened.kind === "denied") return opened;
  const { attempt, reserved } = opened;
  database.run(
    `UPDATE granular_states SET open_turn_index = ?, open_attempt = ?, opened_at = ?, reserved_tokens = ?,
            reserved_micro_dollars = ? WHERE step_no = ?`,
    turnIndex,
    attempt,
    now,
    reserved.tokens,
    reserved.microDollars,
    stepKey,
  );
  coverRow(run, "turns", stepKey);
  state.lastCall = { turnIndex, attempt, openedAt: now, reserved };
  return opened;
}

/** The number of the next attempt of a turn. An open attempt has to be settled first; an answered one is the last. */
function nextAttempt(database: Database, state: GranularStateRow, turnIndex: number): number {
  const { lastCall } = state;
  if (isJournaled(database, state.stepNo, turnIndex))
    throw new Error(`Turn ${turnIndex} is journaled: the model has answered and must not be asked again.`);
  if (lastCall === null) return 1;
  if (isOpen(database, state, lastCall)) {
    throw new Error(
      `Attempt ${lastCall.attempt} of turn ${lastCall.turnIndex} is still open: settle it first.`,
    );
  }
  return lastCall.turnIndex === turnIndex ? lastCall.attempt + 1 : 1;
}

/** Ends a reservation in the quota: the charge stays, the rest becomes free. Returns the columns to store. */
export function reclaim(
  run: RunHead,
  now: number,
  state: GranularStateRow,
  settlement: ModelCallSettlement,
): ModelCallValues {
  const { turnIndex, attempt, charge } = settlement;
  const { lastCall } = state;
  if (lastCall?.turnIndex !== turnIndex || lastCall.attempt !== attempt || lastCall.reserved === null) {
    throw new Error(`Attempt ${attempt} of turn ${turnIndex} is not open: it cannot be settled.`);
  }
  const { openedAt, reserved } = lastCall;
  run.quota = run.quota.reclaim(reserved, charge.amount);
  const { usage } = charge;
  return [
    attempt,
    openedAt,
    now,
    reserved.tokens,
    reserved.microDollars,
    charge.basis,
    charge.amount.tokens,
    charge.amount.microDollars,
    usage.inputTokens,
    usage.outputTokens,
    usage.cachedInputTokens,
    usage.reasoningTokens,
  ];
}

/** The columns of a settled call, from `attempt` to `reasoning_tokens`. */
export type ModelCallValues = [number, number, number, number, number, ChargeBasis, ...number[]];

/** Settles an attempt that brought no response. It is closed then, so it cannot be settled again. */
export function settleFailedCall(
  database: Database,
  run: RunHead,
  now: number,
  settlement: ModelCallSettlement,
): void {
  const { stepKey, turnIndex } = settlement;
  const state = granularState(database, run, stepKey);
  if (isJournaled(database, stepKey, turnIndex))
    throw new Error(`Turn ${turnIndex} is journaled: its call is settled.`);
  const values = reclaim(run, now, state, settlement);
  database.run(
    "INSERT INTO failed_model_calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    stepKey,
    turnIndex,
    ...values,
  );
  coverRow(run, "modelCall", stepKey, turnIndex, settlement.attempt);
  coverRow(run, "turns", stepKey);
  database.run(
    "UPDATE granular_states SET reserved_tokens = NULL, reserved_micro_dollars = NULL WHERE step_no = ?",
    stepKey,
  );
  if (state.lastCall !== null) state.lastCall = { ...state.lastCall, reserved: null };
}

/** The attempts of the run that were opened and not settled. */
export function openModelCalls(
  database: Database,
  runNo: number,
): { stepKey: number; record: ModelCallRecord }[] {
  const rows = database.all(
    `SELECT granular_states.*, step_path FROM run_steps JOIN granular_states USING (step_no)
      WHERE run_no = ? AND granular_states.reserved_tokens IS NOT NULL`,
    runNo,
  );
  return rows.flatMap((row) => {
    const state = granularStateRow(row);
    const { lastCall } = state;
    if (lastCall === null || lastCall.reserved === null || !isOpen(database, state, lastCall)) return [];
    const { turnIndex, attempt, openedAt, reserved } = lastCall;
    const stepPath = row.text("step_path");
    return [
      {
        stepKey: state.stepNo,
        record: { stepPath, turnIndex, attempt, reserved, charge: null, openedAt, settledAt: null },
      },
    ];
  });
}

const SETTLED_COLUMNS = `step_no, turn_index, attempt, opened_at, settled_at, reserved_tokens, reserved_micro_dollars,
  basis, charged_tokens, charged_micro_dollars, input_tokens, output_tokens, cached_input_tokens, reasoning_tokens`;

/** Every settled attempt of the run's steps, with or without a response. Takes the run's number twice. */
export const SETTLED_CALLS = `
  SELECT ${SETTLED_COLUMNS.replace("step_no", "turns.step_no")} FROM run_steps JOIN turns ON ${TURNS_OF_STEP}
   WHERE run_no = ?
  UNION ALL
  SELECT ${SETTLED_COLUMNS} FROM failed_model_calls
   WHERE step_no IN (SELECT step_no FROM run_steps WHERE run_no = ?)`;

/** The settled attempts of a step in order, after a given one, at most `limit` of each kind. */
export function settledModelCalls(
  database: Database,
  step: { readonly stepNo: number; readonly path: string },
  after: { readonly turnIndex: number; readonly attempt: number },
  limit: number,
): ModelCallRecord[] {
  const answered = database.all(
    `SELECT ${SETTLED_COLUMNS} FROM turns WHERE turn_no BETWEEN ? AND ? AND (turn_index, attempt) > (?, ?)
      ORDER BY turn_no LIMIT ?`,
    step.stepNo * TURNS_PER_STEP + after.turnIndex,
    step.stepNo * TURNS_PER_STEP + TURNS_PER_STEP - 1,
    after.turnIndex,
    after.attempt,
    limit,
  );
  const failed = database.all(
    `SELECT ${SETTLED_COLUMNS} FROM failed_model_calls WHERE step_no = ? AND (turn_index, attempt) > (?, ?)
      ORDER BY turn_index, attempt LIMIT ?`,
    step.stepNo,
    after.turnIndex,
    after.attempt,
    limit,
  );
  return [...answered, ...failed].map((row) => modelCallRecord(step.path, row));
}

function isOpen(database: Database, { stepNo }: GranularStateRow, call: LastModelCall): boolean {
  return call.reserved !== null && !isJournaled(database, stepNo, call.turnIndex);
}

function isJournaled(database: Database, stepNo: number, turnIndex: number): boolean {
  return database.get("SELECT 1 AS found FROM turns WHERE turn_no = ?", turnNo(stepNo, turnIndex)) !== null;
}

function modelCallRecord(stepPath: string, row: Row): ModelCallRecord {
  return {
    stepPath,
    turnIndex: row.int("turn_index"),
    attempt: row.int("attempt"),
    reserved: reservedAmount(row),
    charge: {
      basis: row.text("basis") as ChargeBasis,
      amount: chargedAmount(row),
      usage: {
        inputTokens: row.int("input_tokens"),
        outputTokens: row.int("output_tokens"),
        cachedInputTokens: row.int("cached_input_tokens"),
        reasoningTokens: row.int("reasoning_tokens"),
      },
    },
    openedAt: row.int("opened_at"),
    settledAt: row.int("settled_at"),
  };
}
