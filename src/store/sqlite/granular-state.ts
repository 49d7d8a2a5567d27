import { ResumeError } from "../../core/errors.ts";
import type { Amount } from "../../core/usage.ts";
import type { Database, Row } from "./database.ts";
import { reservedAmount } from "./run-row.ts";

/** The compare-and-set row of a granular step. */
export type GranularStateRow = {
  readonly stepNo: number;
  readonly turnIndex: number;
  readonly isComplete: boolean;
  /** The try that was reserved for last; settled unless `reserved` is there and its turn is not journaled. */
  readonly lastCall: LastModelCall | null;
};

export type LastModelCall = {
  readonly turnIndex: number;
  readonly attempt: number;
  readonly openedAt: number;
  readonly reserved: Amount | null;
};

export function granularState(database: Database, stepKey: number): GranularStateRow {
  const row = database.get(
    `SELECT step_no, turn_index, is_complete, open_turn_index, open_attempt, opened_at, reserved_tokens,
            reserved_micro_dollars FROM granular_states WHERE step_no = ?`,
    stepKey,
  );
  if (row === null) throw new Error(`Step ${stepKey} has no turns: the first one has to be opened.`);
  return granularStateRow(row);
}

export function granularStateRow(row: Row): GranularStateRow {
  const turnIndex = row.optionalInt("open_turn_index");
  return {
    stepNo: row.int("step_no"),
    turnIndex: row.int("turn_index"),
    isComplete: row.int("is_complete") === 1,
    lastCall:
      turnIndex === null
        ? null
        : {
            turnIndex,
            attempt: row.int("open_attempt"),
            openedAt: row.int("opened_at"),
            reserved: row.optionalInt("reserved_tokens") === null ? null : reservedAmount(row),
          },
  };
}

/** The compare of compare-and-set: only the turn after the last commit may be opened, journaled or committed. */
export function assertNextTurn(state: GranularStateRow, turnIndex: number): void {
  if (state.turnIndex === turnIndex - 1 && !state.isComplete) return;
  throw new ResumeError(
    `Turn ${turnIndex} is not the next one: the store has committed ${state.turnIndex}${state.isComplete ? " and the step is complete" : ""}. Nothing was written; reload and go on.`,
    { irrecoverable: false, changes: [] },
  );
}
