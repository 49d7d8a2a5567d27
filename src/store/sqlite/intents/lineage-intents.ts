import { canonicalJson } from "../../../core/canonical-json.ts";
import type { Json } from "../../../core/json.ts";
import type { Fence, NewLineage } from "../../store.ts";
import type { Database, Row } from "../database.ts";
import type { GranularStateRow, RunHead } from "../run-head.ts";
import { digestOf } from "../tables/digest.ts";
import { coverRow } from "../tables/event-rows.ts";
import { granularState } from "../tables/granular-state.ts";
import { openModelCalls } from "../tables/model-calls.ts";
import { fencedStep, recordEvent, stepHead } from "../tables/run-row.ts";
import { writeSlices } from "../tables/session-rows.ts";
import { turnCalls, writeTurnReceipt } from "../tables/tool-call-rows.ts";

export function beginLineage(database: Database, now: number, fence: Fence, begun: NewLineage): number {
  const { stepKey, checkpoint } = begun;
  const run = fencedStep(database, fence, stepKey);
  const state = granularState(database, run, stepKey);
  assertMayBegin(database, run, state);
  const base = checkpoint === null ? null : requireCheckpoint(database, run, checkpoint);
  const receipts = writeFinalReceipts(database, run, now, begun, state.turnIndex + 1);
  const openTurn = abandonedTurn(database, run, stepKey, state.turnIndex);
  const firstTurn = (openTurn ?? state.turnIndex) + 1;
  const baseTurn = base?.int("step_no") === stepKey ? base.int("turn_index") : 0;
  const slices = rollBack(database, run, begun, base?.int("event_seq") ?? 0);
  const turns = { committed: state.turnIndex, firstTurn, baseTurn, openTurn };
  const lineage = switchLineage(database, run, now, begun, turns);
  const { path } = stepHead(database, run, stepKey);
  // The cached state of the step belongs to the old lineage.
  run.steps.delete(stepKey);
  recordEvent(database, run, now, "lineage.begun", {
    step: path,
    lineage,
    turn: firstTurn,
    baseTurn,
    ...(checkpoint === null ? {} : { from: checkpoint }),
    ...(openTurn === null ? {} : { openTurn }),
    digest: digestOf(firstTurn, baseTurn, openTurn, checkpoint),
    ...(receipts.length === 0 ? {} : { receipts }),
    ...(slices.length === 0 ? {} : { slices }),
  });
  return firstTurn;
}

type LineageTurns = {
  /** The last committed turn of the old lineage. */
  readonly committed: number;
  readonly firstTurn: number;
  readonly baseTurn: number;
  readonly openTurn: number | null;
};

/** Stores a new lineage and makes it the current one of its step. Returns its number. */
function switchLineage(
  database: Database,
  run: RunHead,
  now: number,
  { stepKey, checkpoint, fingerprint }: NewLineage,
  { committed, firstTurn, baseTurn, openTurn }: LineageTurns,
): number {
  const lineage = nextLineage(database, stepKey);
  database.run(
    "INSERT INTO lineages VALUES (?, ?, ?, ?, ?, ?, ?)",
    stepKey,
    lineage,
    now,
    firstTurn,
    baseTurn,
    openTurn,
    checkpoint,
  );
  database.run(
    "INSERT INTO fingerprints VALUES (?, ?, ?)",
    stepKey,
    lineage,
    canonicalJson(fingerprint.document),
  );
  const changed = database.run(
    `UPDATE granular_states SET lineage = ?, first_turn = ?, turn_index = ?, messages = 0, tokens = 0, fingerprint = ?
      WHERE step_no = ? AND turn_index = ?`,
    lineage,
    firstTurn,
    firstTurn - 1,
    Buffer.from(fingerprint.hash, "hex"),
    stepKey,
    committed,
  );
  if (changed !== 1) throw new Error(`The turns of step ${stepKey} were changed by another process.`);
  coverRow(run, "lineage", stepKey, lineage);
  coverRow(run, "fingerprint", stepKey, lineage);
  coverRow(run, "turns", stepKey);
  return lineage;
}

function assertMayBegin(database: Database, run: RunHead, { stepNo, isComplete }: GranularStateRow): void {
  if (isComplete) throw new Error(`The turns of step ${stepNo} are complete: no new lineage can begin.`);
  if (openModelCalls(database, run.runNo).some(({ stepKey }) => stepKey === stepNo))
    throw new Error(`A model call of step ${stepNo} is open: settle it first.`);
}

/** In the same commit: until the turn is abandoned, a resumed worker may still run these calls. */
function writeFinalReceipts(
  database: Database,
  run: RunHead,
  now: number,
  { stepKey, receipts = [] }: NewLineage,
  turnIndex: number,
): Json[] {
  if (receipts.length === 0) return [];
  const turn = turnCalls(database, run, stepKey, turnIndex);
  if (turn === null) throw new Error(`No turn of step ${stepKey} is open: there is nothing to abandon.`);
  return receipts.map((receipt) => [receipt.callIndex, writeTurnReceipt(database, run, now, turn, receipt)]);
}

function requireCheckpoint(database: Database, run: RunHead, checkpoint: number): Row {
  const row = database.get(
    "SELECT step_no, turn_index, event_seq, superseded FROM checkpoints WHERE run_no = ? AND checkpoint_index = ?",
    run.runNo,
    checkpoint,
  );
  if (row === null) throw new Error(`Run ${run.runId} has no checkpoint ${checkpoint}: nothing was written.`);
  // The session changes up to it were rolled back with it.
  if (row.int("superseded") === 1)
    throw new Error(
      `Run ${run.runId} was rolled back to before checkpoint ${checkpoint}: nothing was written.`,
    );
  return row;
}

/** The turn that was journaled and never committed, if there is one. Each of its calls must have a receipt. */
function abandonedTurn(database: Database, run: RunHead, stepKey: number, committed: number): number | null {
  const open = turnCalls(database, run, stepKey, committed + 1);
  if (open === null) return null;
  if (open.receipts === open.calls) return open.turnIndex;
  throw new Error(
    `Turn ${open.turnIndex} cannot be abandoned: ${open.receipts} of its ${open.calls} calls have a receipt.`,
  );
}

/** Removes the session changes after that event of the run. */
function rollBack(
  database: Database,
  run: RunHead,
  { checkpoint, slices }: NewLineage,
  eventSeq: number,
): ReturnType<typeof writeSlices> {
  database.run(
    "UPDATE applied_calls SET forgotten = 1 WHERE run_no = ? AND event_seq > ?",
    run.runNo,
    eventSeq,
  );
  database.run(
    "UPDATE checkpoints SET superseded = 1 WHERE run_no = ? AND checkpoint_index > ? AND superseded = 0",
    run.runNo,
    checkpoint ?? 0,
  );
  return writeSlices(database, run, slices);
}

function nextLineage(database: Database, stepKey: number): number {
  const row = database.get("SELECT lineage FROM granular_states WHERE step_no = ?", stepKey);
  return (row?.int("lineage") ?? 0) + 1;
}
