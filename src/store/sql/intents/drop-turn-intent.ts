import { ConfigurationError } from "../../../core/errors.ts";
import { stepId } from "../../../core/step-path.ts";
import { assertDroppable } from "../../../core/turn/turn-decision.ts";
import type { DroppedTurn, Fence } from "../../store.ts";
import type { Row } from "../row.ts";
import type { RunHead } from "../run-head.ts";
import { exists, get, type SqlScript } from "../script.ts";
import { CHARGE_BASES } from "../stored-words.ts";
import { assertNextTurn, granularState, saveTurns } from "../tables/granular-state.ts";
import { fencedStep, recordEvent, stepHead } from "../tables/run-row.ts";
import { insertRow, removeRow, type Transaction } from "../transaction.ts";
import { partWaitsFromCalls } from "./wait-intents.ts";

/** Drops a journaled response whose calls were not dispatched. Its charge is kept with the failed attempts. */
export function* dropTurn(tx: Transaction, fence: Fence, dropped: DroppedTurn): SqlScript<void> {
  const { stepKey, turnIndex } = dropped;
  const run = yield* fencedStep(tx, fence, stepKey);
  const { path } = yield* stepHead(run, stepKey);
  const state = yield* granularState(run, stepKey);
  assertNextTurn(state, turnIndex);
  const turn = yield* requireJournaled(run, path, dropped);
  const [first, last] = [turn.int("first_call_no"), turn.int("first_call_no") + turn.int("calls") - 1];
  const isBegun = yield* exists(
    `SELECT 1 AS found FROM tool_calls LEFT JOIN receipts USING (run_key, call_no)
      WHERE run_key = ? AND call_no BETWEEN ? AND ? AND (attempt > 0 OR receipts.status IS NOT NULL) LIMIT 1`,
    run.key,
    first,
    last,
  );
  assertDroppable({ runId: run.runId, stepPath: path, turnIndex, isBegun });
  if (turn.int("calls") > 0) {
    yield* partWaitsFromCalls(tx, run, first, last);
    for (let callNo = first; callNo <= last; callNo++) removeRow(tx, run, "tool_calls", { call_no: callNo });
  }
  moveToFailedCalls(tx, run, turn);
  const [attempt, openedAt] = [turn.int("attempt"), turn.int("opened_at")];
  state.lastCall = { turnIndex, attempt, openedAt, reserved: null };
  saveTurns(tx, run, state);
  // The cached state of the step still has that response.
  run.steps.delete(stepKey);
  recordEvent(tx, run, "turn.dropped", { step: path, turn: turnIndex, calls: turn.int("calls") });
}

function* requireJournaled(run: RunHead, path: string, { stepKey, turnIndex }: DroppedTurn): SqlScript<Row> {
  const turn = yield* get(
    "SELECT * FROM turns WHERE run_key = ? AND step_no = ? AND turn_index = ?",
    run.key,
    stepKey,
    turnIndex,
  );
  if (turn !== null) return turn;
  throw new ConfigurationError(
    `Turn ${turnIndex} of ${stepId(run.runId, path)} has no response: there is nothing to drop.`,
  );
}

/** Removes the row of the response. Its model call is kept as a failed attempt, with its charge. */
function moveToFailedCalls(tx: Transaction, run: RunHead, turn: Row): void {
  const key = { step_no: turn.int("step_no"), turn_index: turn.int("turn_index") };
  insertRow(tx, run, "failed_model_calls", {
    ...key,
    attempt: turn.int("attempt"),
    opened_at: turn.int("opened_at"),
    settled_at: turn.int("settled_at"),
    reserved_tokens: turn.int("reserved_tokens"),
    reserved_micro_dollars: turn.int("reserved_micro_dollars"),
    basis: turn.oneOf("basis", CHARGE_BASES),
    charged_tokens: turn.int("charged_tokens"),
    charged_micro_dollars: turn.int("charged_micro_dollars"),
    input_tokens: turn.int("input_tokens"),
    output_tokens: turn.int("output_tokens"),
    cached_input_tokens: turn.int("cached_input_tokens"),
    reasoning_tokens: turn.int("reasoning_tokens"),
  });
  removeRow(tx, run, "turns", key);
}
