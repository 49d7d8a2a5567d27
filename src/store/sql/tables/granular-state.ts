import { ResumeError } from "../../../core/errors.ts";
import type { Row } from "../row.ts";
import type { GranularStateRow, RunHead } from "../run-head.ts";
import { get, type SqlScript } from "../script.ts";
import { changeRow, insertRow, type Transaction } from "../transaction.ts";
import { reservedAmount } from "./run-quota.ts";
import { stepHead } from "./run-row.ts";
import { turnCalls } from "./tool-call-rows.ts";

/** The fingerprint of a step in a fork that is not pinned yet: its first turn pins it. */
export const UNPINNED = Buffer.alloc(32);

/** The state of a step's turns; cached in the run's head. */
export function* granularState(run: RunHead, stepKey: number): SqlScript<GranularStateRow> {
  const state = yield* findGranularState(run, stepKey);
  if (state === null) throw new Error(`Step ${stepKey} has no turns: the first one has to be opened.`);
  return state;
}

/** The same; null if no turn of the step was opened yet. */
export function* findGranularState(run: RunHead, stepKey: number): SqlScript<GranularStateRow | null> {
  const step = yield* stepHead(run, stepKey);
  if (step.state !== null) return step.state;
  const row = yield* get("SELECT * FROM granular_states WHERE run_key = ? AND step_no = ?", run.key, stepKey);
  if (row === null) return null;
  const state = granularStateRow(row);
  // From here on the head knows whether the next turn is journaled, without asking again.
  yield* turnCalls(run, stepKey, state.turnIndex + 1);
  step.state = state;
  return state;
}

export function granularStateRow(row: Row): GranularStateRow {
  const turnIndex = row.optionalInt("open_turn_index");
  return {
    stepNo: row.int("step_no"),
    turnIndex: row.int("turn_index"),
    isComplete: row.flag("is_complete"),
    messages: row.int("messages"),
    tokens: row.int("tokens"),
    lastCall:
      turnIndex === null
        ? null
        : {
            turnIndex,
            attempt: row.int("open_attempt"),
            openedAt: row.int("opened_at"),
            reserved: row.optionalInt("reserved_tokens") === null ? null : reservedAmount(row),
          },
    lineage: row.int("lineage"),
    firstTurn: row.int("first_turn"),
    fingerprint: row.bytes("fingerprint"),
  };
}

/** The state of a step before its first turn. */
export function* beginTurns(
  tx: Transaction,
  run: RunHead,
  stepNo: number,
  fingerprint: Uint8Array,
): SqlScript<GranularStateRow> {
  const state: GranularStateRow = {
    stepNo,
    turnIndex: 0,
    isComplete: false,
    messages: 0,
    tokens: 0,
    lastCall: null,
    lineage: 0,
    firstTurn: 1,
    fingerprint,
  };
  insertState(tx, run, state);
  (yield* stepHead(run, stepNo)).state = state;
  return state;
}

export function insertState(tx: Transaction, run: RunHead, state: GranularStateRow): void {
  insertRow(tx, run, "granular_states", {
    step_no: state.stepNo,
    ...turnsColumns(state),
    ...lineageColumns(state),
  });
}

/** Writes the part of a state that changes with its turns. */
export function saveTurns(tx: Transaction, run: RunHead, state: GranularStateRow): void {
  changeRow(tx, run, "granular_states", { step_no: state.stepNo }, turnsColumns(state));
}

/** Writes the part of a state that changes with its lineage, or with an accepted divergence. */
export function saveLineage(tx: Transaction, run: RunHead, state: GranularStateRow): void {
  changeRow(tx, run, "granular_states", { step_no: state.stepNo }, lineageColumns(state));
}

function turnsColumns({ turnIndex, isComplete, messages, tokens, lastCall }: GranularStateRow) {
  return {
    turn_index: turnIndex,
    is_complete: Number(isComplete),
    messages,
    tokens,
    open_turn_index: lastCall?.turnIndex ?? null,
    open_attempt: lastCall?.attempt ?? null,
    opened_at: lastCall?.openedAt ?? null,
    reserved_tokens: lastCall?.reserved?.tokens ?? null,
    reserved_micro_dollars: lastCall?.reserved?.microDollars ?? null,
  };
}

function lineageColumns({ lineage, firstTurn, fingerprint }: GranularStateRow) {
  return { lineage, first_turn: firstTurn, fingerprint };
}

/** The compare of compare-and-set: only the turn after the last commit may be opened, journaled or committed. */
export function assertNextTurn(state: GranularStateRow, turnIndex: number): void {
  if (state.turnIndex === turnIndex - 1 && !state.isComplete) return;
  throw new ResumeError(
    `Turn ${turnIndex} is not the next one: the store has committed ${state.turnIndex}${state.isComplete ? " and the step is complete" : ""}. Nothing was written; reload and continue.`,
    { irrecoverable: false, changes: [] },
  );
}
