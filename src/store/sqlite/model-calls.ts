import type { ChargeBasis } from "../../core/usage.ts";
import type { Charge, ModelCallRecord, TurnOpened, TurnOpening } from "../store.ts";
import type { Database, Row } from "./database.ts";
import { amount, type RunRow } from "./run-row.ts";

/** A try that is reserved for. It is open as long as there is no settled row of it. */
type OpenCall = {
  readonly stepNo: number;
  readonly turnIndex: number;
  readonly attempt: number;
  readonly row: Row;
};

/**
 * Reserves for one try at a turn, if the quota allows it. The reservation stands in the step's state row: in steady
 * state that row is written anyway, so opening a turn costs no page of its own.
 */
export function openModelCall(
  database: Database,
  run: RunRow,
  now: number,
  opening: TurnOpening,
  attempt: number,
): TurnOpened {
  const { stepKey, turnIndex, reserve } = opening;
  const reservation = run.quota.reserve(reserve);
  if (reservation.kind === "denied") {
    const { unit, wanted, remaining } = reservation;
    return { kind: "denied", unit, wanted, remaining };
  }
  run.quota = reservation.quota;
  database.run(
    `UPDATE granular_states SET open_turn_index = ?, open_attempt = ?, opened_at = ?, reserved_tokens = ?,
            reserved_micro_dollars = ? WHERE step_no = ?`,
    turnIndex,
    attempt,
    now,
    reserve.tokens,
    reserve.microDollars,
    stepKey,
  );
  return { kind: "opened", attempt, reserved: reserve };
}

/** The number of the next try at a turn. One that is still open has to be settled first. */
export function nextAttempt(database: Database, stepKey: number, turnIndex: number): number {
  const last = lastCall(database, stepKey);
  if (last === null) return 1;
  if (!isSettled(database, last)) {
    throw new Error(
      `Try ${last.attempt} of turn ${last.turnIndex} is still open: it has to be settled first.`,
    );
  }
  return last.turnIndex === turnIndex ? last.attempt + 1 : 1;
}

/** Charges a try and ends its reservation. There is one row a try, so there is one reclaim a reservation, ever. */
export function settle(
  database: Database,
  run: RunRow,
  now: number,
  settlement: {
    readonly stepKey: number;
    readonly turnIndex: number;
    readonly attempt: number;
    readonly charge: Charge;
  },
): void {
  const { stepKey, turnIndex, attempt, charge } = settlement;
  const open = lastCall(database, stepKey);
  if (open?.turnIndex !== turnIndex || open.attempt !== attempt || isSettled(database, open)) {
    throw new Error(`Try ${attempt} of turn ${turnIndex} is not open: it cannot be settled.`);
  }
  const reserved = amount(open.row, "reserved");
  const { usage } = charge;
  database.run(
    "INSERT INTO model_calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    stepKey,
    turnIndex,
    attempt,
    open.row.int("opened_at"),
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
  );
  run.quota = run.quota.reclaim(reserved, charge.amount);
}

/** Tries of the run that were opened and not settled. */
export function openModelCalls(
  database: Database,
  runNo: number,
): { stepNo: number; record: ModelCallRecord }[] {
  return database
    .all(`${OPEN_CALLS} WHERE run_no = ? AND open_attempt IS NOT NULL`, runNo)
    .map(openCall)
    .filter((call) => !isSettled(database, call))
    .map(({ stepNo, turnIndex, attempt, row }) => ({
      stepNo,
      record: {
        stepPath: row.text("step_path"),
        turnIndex,
        attempt,
        reserved: amount(row, "reserved"),
        charge: null,
        openedAt: row.int("opened_at"),
        settledAt: null,
      },
    }));
}

export function settledModelCalls(database: Database, runNo: number): ModelCallRecord[] {
  return database
    .all(
      `SELECT model_calls.*, step_path FROM run_steps JOIN model_calls USING (step_no)
        WHERE run_no = ? ORDER BY step_index, turn_index, attempt`,
      runNo,
    )
    .map(modelCallRecord);
}

const OPEN_CALLS = `
  SELECT step_no, open_turn_index, open_attempt, opened_at, reserved_tokens, reserved_micro_dollars, step_path
    FROM run_steps JOIN granular_states USING (step_no)`;

function lastCall(database: Database, stepKey: number): OpenCall | null {
  const row = database.get(
    `SELECT step_no, open_turn_index, open_attempt, opened_at, reserved_tokens, reserved_micro_dollars
       FROM granular_states WHERE step_no = ?`,
    stepKey,
  );
  return row === null || row.optionalInt("open_attempt") === null ? null : openCall(row);
}

function openCall(row: Row): OpenCall {
  return {
    stepNo: row.int("step_no"),
    turnIndex: row.int("open_turn_index"),
    attempt: row.int("open_attempt"),
    row,
  };
}

function isSettled(database: Database, { stepNo, turnIndex, attempt }: OpenCall): boolean {
  const row = database.get(
    "SELECT 1 AS settled FROM model_calls WHERE step_no = ? AND turn_index = ? AND attempt = ?",
    stepNo,
    turnIndex,
    attempt,
  );
  return row !== null;
}

function modelCallRecord(row: Row): ModelCallRecord {
  return {
    stepPath: row.text("step_path"),
    turnIndex: row.int("turn_index"),
    attempt: row.int("attempt"),
    reserved: amount(row, "reserved"),
    charge: {
      basis: row.text("basis") as ChargeBasis,
      amount: amount(row, "charged"),
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
