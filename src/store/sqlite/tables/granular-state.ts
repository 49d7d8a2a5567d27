import { ResumeError } from "../../../core/errors.ts";
import type { Database, Row } from "../database.ts";
import type { GranularStateRow, RunHead } from "../run-head.ts";
import { reservedAmount, stepHead } from "./run-row.ts";

/** The fingerprint of a step in a fork that is not pinned yet: its first turn pins it. */
export const UNPINNED = Buffer.alloc(32);

/** The state of a step's turns; cached in the run's head. */
export function granularState(database: Database, run: RunHead, stepKey: number): GranularStateRow {
  const step = stepHead(database, run, stepKey);
  if (step.state !== null) return step.state;
  const row = database.get(
    `SELECT step_no, turn_index, is_complete, open_turn_index, open_attempt, opened_at, reserved_tokens,
            reserved_micro_dollars FROM granular_states WHERE step_no = ?`,
    stepKey,
  );
  if (row === null) throw new Error(`Step ${stepKey} has no turns: the first one has to be opened.`);
  step.state = granularStateRow(row);
  return step.state;
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
    `Turn ${turnIndex} is not the next one: the store has committed ${state.turnIndex}${state.isComplete ? " and the step is complete" : ""}. Nothing was written; reload and continue.`,
    { irrecoverable: false, changes: [] },
  );
}
