import { ConfigurationError } from "../../../core/errors.ts";
import { stepId } from "../../../core/step-path.ts";
import { assertDroppable } from "../../../core/turn/turn-decision.ts";
import type { DroppedTurn, Fence } from "../../store.ts";
import type { Database, Row } from "../database.ts";
import type { RunHead } from "../run-head.ts";
import { coverRemovedRow, coverRow } from "../tables/event-rows.ts";
import { assertNextTurn, granularState } from "../tables/granular-state.ts";
import { fencedStep, recordEvent, stepHead } from "../tables/run-row.ts";
import { turnNo } from "../tables/turn-number.ts";
import { partWaitsFromCalls } from "./wait-intents.ts";

/** Drops a journaled response whose calls were not dispatched. Its charge is kept with the failed attempts. */
export function dropTurn(database: Database, now: number, fence: Fence, dropped: DroppedTurn): void {
  const { stepKey, turnIndex } = dropped;
  const run = fencedStep(database, fence, stepKey);
  const { path } = stepHead(database, run, stepKey);
  assertNextTurn(granularState(database, run, stepKey), turnIndex);
  const turn = requireJournaled(database, run, dropped);
  const [first, last] = [turn.int("first_call_no"), turn.int("first_call_no") + turn.int("calls") - 1];
  const begun = database.get(
    `SELECT 1 AS found FROM tool_calls LEFT JOIN receipts USING (call_no)
      WHERE call_no BETWEEN ? AND ? AND (attempt > 0 OR receipts.call_no IS NOT NULL) LIMIT 1`,
    first,
    last,
  );
  assertDroppable({ runId: run.runId, stepPath: path, turnIndex, isBegun: begun !== null });
  const waits = partWaitsFromCalls(database, run, now, first, last);
  coverRemovedRow(database, run, "turn", turnNo(stepKey, turnIndex));
  for (let callNo = first; callNo <= last; callNo++) coverRemovedRow(database, run, "call", callNo);
  if (turn.int("calls") > 0)
    database.run("DELETE FROM tool_calls WHERE call_no BETWEEN ? AND ?", first, last);
  moveToFailedCalls(database, run, turn);
  database.run(
    `UPDATE granular_states SET open_turn_index = ?, open_attempt = ?, opened_at = ?, reserved_tokens = NULL,
            reserved_micro_dollars = NULL WHERE step_no = ?`,
    turnIndex,
    turn.int("attempt"),
    turn.int("opened_at"),
    stepKey,
  );
  coverRow(run, "turns", stepKey);
  // The cached state of the step still has that response.
  run.steps.delete(stepKey);
  recordEvent(database, run, now, "turn.dropped", {
    step: path,
    turn: turnIndex,
    calls: turn.int("calls"),
    ...(waits.length === 0 ? {} : { waits }),
  });
}

function requireJournaled(database: Database, run: RunHead, { stepKey, turnIndex }: DroppedTurn): Row {
  const turn = database.get("SELECT * FROM turns WHERE turn_no = ?", turnNo(stepKey, turnIndex));
  if (turn !== null) return turn;
  const { path } = stepHead(database, run, stepKey);
  throw new ConfigurationError(
    `Turn ${turnIndex} of ${stepId(run.runId, path)} has no response: there is nothing to drop.`,
  );
}

/** Removes the row of the response. Its model call is kept as a failed attempt, with its charge. */
function moveToFailedCalls(database: Database, run: RunHead, turn: Row): void {
  database.run(
    `INSERT INTO failed_model_calls SELECT step_no, turn_index, attempt, opened_at, settled_at, reserved_tokens,
            reserved_micro_dollars, basis, charged_tokens, charged_micro_dollars, input_tokens, output_tokens,
            cached_input_tokens, reasoning_tokens FROM turns WHERE turn_no = ?`,
    turn.int("turn_no"),
  );
  database.run("DELETE FROM turns WHERE turn_no = ?", turn.int("turn_no"));
  coverRow(run, "modelCall", turn.int("step_no"), turn.int("turn_index"), turn.int("attempt"));
}
