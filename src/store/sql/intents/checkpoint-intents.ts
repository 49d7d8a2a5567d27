import type { Fence, LateCheckpoint } from "../../store.ts";
import type { SqlScript } from "../script.ts";
import { insertCheckpoint } from "../tables/checkpoint-rows.ts";
import { granularState } from "../tables/granular-state.ts";
import { fencedStep, recordEvent, stepHead } from "../tables/run-row.ts";
import type { Transaction } from "../transaction.ts";
import { assertRunning } from "./step-intents.ts";

export function* saveCheckpoint(tx: Transaction, fence: Fence, late: LateCheckpoint): SqlScript<number> {
  const { stepKey, turnIndex, checkpoint } = late;
  const run = yield* fencedStep(tx, fence, stepKey);
  const state = yield* granularState(run, stepKey);
  // The session changes with a commit, with the end of a step, and with a new lineage.
  if (state.turnIndex !== turnIndex || state.firstTurn > turnIndex)
    throw new Error(`Turn ${turnIndex} is not the last one: its checkpoint can no longer be saved.`);
  yield* assertRunning(run, stepKey);
  const number = insertCheckpoint(tx, run, { stepKey, turnIndex, eventSeq: run.eventSeq + 1 }, checkpoint);
  recordEvent(tx, run, "checkpoint.saved", {
    step: (yield* stepHead(run, stepKey)).path,
    turn: turnIndex,
    checkpoint: number,
  });
  return number;
}
