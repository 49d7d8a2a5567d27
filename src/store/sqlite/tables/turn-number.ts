/**
 * The number of a turn combines its step and index in one integer, so that the table itself is in that order and
 * needs no index: one page less in every commit. It leaves room for 16 million turns per step and 500 million steps.
 */
export const TURNS_PER_STEP = 2 ** 24;

export function turnNo(stepKey: number, turnIndex: number): number {
  if (!Number.isSafeInteger(turnIndex) || turnIndex < 1 || turnIndex >= TURNS_PER_STEP) {
    throw new RangeError(`Turn ${turnIndex} cannot be stored: a step has turns 1 to ${TURNS_PER_STEP - 1}.`);
  }
  return stepKey * TURNS_PER_STEP + turnIndex;
}

/** A join condition: the turns of each selected step. */
export const TURNS_OF_STEP = `turns.turn_no BETWEEN run_steps.step_no * ${TURNS_PER_STEP}
                              AND run_steps.step_no * ${TURNS_PER_STEP} + ${TURNS_PER_STEP - 1}`;
