import type { Json } from "../../../core/json.ts";
import type { Fence, NewLineage } from "../../store.ts";
import type { Row } from "../row.ts";
import type { GranularStateRow, RunHead } from "../run-head.ts";
import { all, get, type SqlScript } from "../script.ts";
import { putMessagesBack } from "../tables/exchange-rows.ts";
import { granularState } from "../tables/granular-state.ts";
import { switchLineage } from "../tables/lineage-rows.ts";
import { openModelCalls } from "../tables/model-calls.ts";
import { fencedStep, recordEvent, stepHead } from "../tables/run-row.ts";
import { writeSlices } from "../tables/session-rows.ts";
import { turnCalls, writeTurnReceipt } from "../tables/tool-call-rows.ts";
import { changeRow, type Transaction } from "../transaction.ts";

export function* beginLineage(tx: Transaction, fence: Fence, begun: NewLineage): SqlScript<number> {
  const { stepKey, checkpoint } = begun;
  const run = yield* fencedStep(tx, fence, stepKey);
  const state = yield* granularState(run, stepKey);
  yield* assertMayBegin(run, state);
  const base = checkpoint === null ? null : yield* requireCheckpoint(run, checkpoint);
  const receipts = yield* writeFinalReceipts(tx, run, begun, state.turnIndex + 1);
  const openTurn = yield* abandonedTurn(run, stepKey, state.turnIndex);
  const firstTurn = (openTurn ?? state.turnIndex) + 1;
  const baseTurn = base?.int("step_no") === stepKey ? base.int("turn_index") : 0;
  yield* rollBack(tx, run, begun, base?.int("event_seq") ?? 0);
  const putBack = yield* putMessagesBack(tx, run, state, baseTurn);
  const lineage = switchLineage(tx, run, state, begun.fingerprint, {
    first_turn: firstTurn,
    base_turn: baseTurn,
    open_turn: openTurn,
    checkpoint_index: checkpoint,
    summary: null,
  });
  const { path } = yield* stepHead(run, stepKey);
  // The cached state of the step belongs to the old lineage.
  run.steps.delete(stepKey);
  recordEvent(tx, run, "lineage.begun", {
    step: path,
    lineage,
    turn: firstTurn,
    baseTurn,
    ...(checkpoint === null ? {} : { from: checkpoint }),
    ...(openTurn === null ? {} : { openTurn }),
    ...(receipts.length === 0 ? {} : { receipts }),
    ...(putBack.length === 0 ? {} : { messages: putBack }),
  });
  return firstTurn;
}

function* assertMayBegin(run: RunHead, { stepNo, isComplete }: GranularStateRow): SqlScript<void> {
  if (isComplete) throw new Error(`The turns of step ${stepNo} are complete: no new lineage can begin.`);
  const open = yield* openModelCalls(run.key);
  if (open.some(({ stepKey }) => stepKey === stepNo))
    throw new Error(`A model call of step ${stepNo} is open: settle it first.`);
}

/** In the same commit: until the turn is abandoned, a resumed worker may still run these calls. */
function* writeFinalReceipts(
  tx: Transaction,
  run: RunHead,
  { stepKey, receipts = [] }: NewLineage,
  turnIndex: number,
): SqlScript<Json[]> {
  if (receipts.length === 0) return [];
  const turn = yield* turnCalls(run, stepKey, turnIndex);
  if (turn === null) throw new Error(`No turn of step ${stepKey} is open: there is nothing to abandon.`);
  for (const receipt of receipts) yield* writeTurnReceipt(tx, run, turn, receipt);
  return receipts.map(({ callIndex }) => callIndex);
}

function* requireCheckpoint(run: RunHead, checkpoint: number): SqlScript<Row> {
  const row = yield* get(
    `SELECT step_no, turn_index, event_seq, superseded FROM checkpoints
      WHERE run_key = ? AND checkpoint_index = ?`,
    run.key,
    checkpoint,
  );
  if (row === null) throw new Error(`Run ${run.runId} has no checkpoint ${checkpoint}: nothing was written.`);
  // The session changes up to it were rolled back with it.
  if (row.flag("superseded"))
    throw new Error(
      `Run ${run.runId} was rolled back to before checkpoint ${checkpoint}: nothing was written.`,
    );
  return row;
}

/** The turn that was journaled and never committed, if there is one. Each of its calls must have a receipt. */
function* abandonedTurn(run: RunHead, stepKey: number, committed: number): SqlScript<number | null> {
  const open = yield* turnCalls(run, stepKey, committed + 1);
  if (open === null) return null;
  if (open.receipts.size === open.calls) return open.turnIndex;
  throw new Error(
    `Turn ${open.turnIndex} cannot be abandoned: ${open.receipts.size} of its ${open.calls} calls have a receipt.`,
  );
}

/** Removes the session changes after that event of the run. */
function* rollBack(
  tx: Transaction,
  run: RunHead,
  { checkpoint, slices }: NewLineage,
  eventSeq: number,
): SqlScript<void> {
  const forgotten = yield* all(
    "SELECT call_no, event_seq FROM applied_calls WHERE run_key = ? AND event_seq > ? AND forgotten = 0",
    run.key,
    eventSeq,
  );
  for (const row of forgotten)
    changeRow(
      tx,
      run,
      "applied_calls",
      { call_no: row.int("call_no") },
      { event_seq: row.int("event_seq"), forgotten: 1 },
    );
  const superseded = yield* all(
    "SELECT checkpoint_index FROM checkpoints WHERE run_key = ? AND checkpoint_index > ? AND superseded = 0",
    run.key,
    checkpoint ?? 0,
  );
  for (const row of superseded)
    changeRow(tx, run, "checkpoints", { checkpoint_index: row.int("checkpoint_index") }, { superseded: 1 });
  yield* writeSlices(tx, run, slices);
}
