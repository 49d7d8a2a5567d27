import type { Charge, ModelCallRecord, ModelCallSettlement, TurnOpened, TurnOpening } from "../../store.ts";
import type { Row } from "../row.ts";
import type { GranularStateRow, RunHead } from "../run-head.ts";
import { all, exists, type SqlScript } from "../script.ts";
import { CHARGE_BASES } from "../stored-words.ts";
import type { RunKey } from "../table-list.ts";
import { insertRow, type Transaction } from "../transaction.ts";
import { granularState, granularStateRow, saveTurns } from "./granular-state.ts";
import { chargedAmount, reservedAmount } from "./run-quota.ts";
import { stepHead } from "./run-row.ts";

type Reserved = Exclude<TurnOpened, { kind: "stale" }>;

/** Reserves for one attempt of a turn, if the quota allows it. */
export function reserve(run: RunHead, opening: Pick<TurnOpening, "reserve">, attempt: number): Reserved {
  const reservation = run.quota.reserve(opening.reserve);
  if (reservation.kind === "denied") {
    const { unit, wanted, remaining } = reservation;
    return { kind: "denied", unit, wanted, remaining };
  }
  run.quota = reservation.quota;
  return { kind: "opened", attempt, reserved: opening.reserve };
}

/**
 * Opens a turn on its own. The reservation is in the step's state row, which a commit writes anyway: from the second
 * turn on, opening is part of that commit and costs no page of its own.
 */
export function* openModelCall(
  tx: Transaction,
  run: RunHead,
  opening: Pick<TurnOpening, "turnIndex" | "reserve">,
  state: GranularStateRow,
): SqlScript<Reserved> {
  const { turnIndex } = opening;
  const opened = reserve(run, opening, yield* nextAttempt(run, state, turnIndex));
  if (opened.kind === "denied") return opened;
  const { attempt, reserved } = opened;
  state.lastCall = { turnIndex, attempt, openedAt: tx.now, reserved };
  saveTurns(tx, run, state);
  return opened;
}

/** The number of the next attempt of a turn. An open attempt has to be settled first; an answered one is the last. */
function* nextAttempt(run: RunHead, state: GranularStateRow, turnIndex: number): SqlScript<number> {
  const { lastCall } = state;
  const { calls } = yield* stepHead(run, state.stepNo);
  if (calls?.turnIndex === turnIndex)
    throw new Error(`Turn ${turnIndex} is journaled: the model has answered and must not be asked again.`);
  if (lastCall === null) return 1;
  if (lastCall.reserved !== null && calls?.turnIndex !== lastCall.turnIndex) {
    throw new Error(
      `Attempt ${lastCall.attempt} of turn ${lastCall.turnIndex} is still open: settle it first.`,
    );
  }
  return lastCall.turnIndex === turnIndex ? lastCall.attempt + 1 : 1;
}

/** Ends a reservation in the quota: the charge stays, the rest becomes free. Returns the columns to store. */
export function reclaim(
  tx: Transaction,
  run: RunHead,
  { lastCall }: GranularStateRow,
  settlement: ModelCallSettlement,
) {
  const { turnIndex, attempt, charge } = settlement;
  if (lastCall?.turnIndex !== turnIndex || lastCall.attempt !== attempt || lastCall.reserved === null) {
    throw new Error(`Attempt ${attempt} of turn ${turnIndex} is not open: it cannot be settled.`);
  }
  const { openedAt, reserved } = lastCall;
  run.quota = run.quota.reclaim(reserved, charge.amount);
  const { usage } = charge;
  return {
    attempt,
    opened_at: openedAt,
    settled_at: tx.now,
    reserved_tokens: reserved.tokens,
    reserved_micro_dollars: reserved.microDollars,
    basis: charge.basis,
    charged_tokens: charge.amount.tokens,
    charged_micro_dollars: charge.amount.microDollars,
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cached_input_tokens: usage.cachedInputTokens,
    reasoning_tokens: usage.reasoningTokens,
  };
}

/** Settles an attempt that brought no response. It is closed then, so it cannot be settled again. */
export function* settleFailedCall(
  tx: Transaction,
  run: RunHead,
  settlement: ModelCallSettlement,
): SqlScript<void> {
  const { stepKey, turnIndex } = settlement;
  const state = yield* granularState(run, stepKey);
  if ((yield* stepHead(run, stepKey)).calls?.turnIndex === turnIndex)
    throw new Error(`Turn ${turnIndex} is journaled: its call is settled.`);
  const settled = reclaim(tx, run, state, settlement);
  insertRow(tx, run, "failed_model_calls", { step_no: stepKey, turn_index: turnIndex, ...settled });
  if (state.lastCall !== null) state.lastCall = { ...state.lastCall, reserved: null };
  saveTurns(tx, run, state);
}

/** The attempts of the run that were opened and not settled. */
export function* openModelCalls(key: RunKey): SqlScript<{ stepKey: number; record: ModelCallRecord }[]> {
  const rows = yield* all(
    `SELECT granular_states.*, step_path FROM granular_states JOIN run_steps USING (run_key, step_no)
      WHERE run_key = ? AND granular_states.reserved_tokens IS NOT NULL ORDER BY step_no`,
    key,
  );
  const open: { stepKey: number; record: ModelCallRecord }[] = [];
  for (const row of rows) {
    const state = granularStateRow(row);
    const { lastCall, stepNo: stepKey } = state;
    if (lastCall === null || lastCall.reserved === null) continue;
    const { turnIndex, attempt, openedAt, reserved } = lastCall;
    if (yield* isJournaled(key, stepKey, turnIndex)) continue;
    const stepPath = row.text("step_path");
    open.push({
      stepKey,
      record: { stepPath, turnIndex, attempt, reserved, charge: null, openedAt, settledAt: null },
    });
  }
  return open;
}

const SETTLED_COLUMNS = `step_no, turn_index, attempt, opened_at, settled_at, reserved_tokens, reserved_micro_dollars,
  basis, charged_tokens, charged_micro_dollars, input_tokens, output_tokens, cached_input_tokens, reasoning_tokens`;

/** Every settled attempt of the run's steps, with or without a response. Takes the run's key twice. */
export const SETTLED_CALLS = `
  SELECT ${SETTLED_COLUMNS} FROM turns WHERE run_key = ?
  UNION ALL
  SELECT ${SETTLED_COLUMNS} FROM failed_model_calls WHERE run_key = ?`;

const settledIn = (table: string) =>
  `SELECT ${SETTLED_COLUMNS} FROM ${table} WHERE run_key = ? AND step_no = ? AND (turn_index, attempt) > (?, ?)
    ORDER BY turn_index, attempt LIMIT ?`;
const ANSWERED_CALLS = settledIn("turns");
const FAILED_CALLS = settledIn("failed_model_calls");

/** The settled attempts of a step, after a given one, at most `limit` of each kind. */
export function* settledModelCalls(
  key: RunKey,
  step: { readonly stepNo: number; readonly path: string },
  after: { readonly turnIndex: number; readonly attempt: number },
  limit: number,
): SqlScript<ModelCallRecord[]> {
  const from = [key, step.stepNo, after.turnIndex, after.attempt, limit] as const;
  const answered = yield* all(ANSWERED_CALLS, ...from);
  const failed = yield* all(FAILED_CALLS, ...from);
  return [...answered, ...failed].map((row) => modelCallRecord(step.path, row));
}

function isJournaled(key: RunKey, stepNo: number, turnIndex: number): SqlScript<boolean> {
  return exists(
    "SELECT 1 AS found FROM turns WHERE run_key = ? AND step_no = ? AND turn_index = ?",
    key,
    stepNo,
    turnIndex,
  );
}

function modelCallRecord(stepPath: string, row: Row): ModelCallRecord {
  return {
    stepPath,
    turnIndex: row.int("turn_index"),
    attempt: row.int("attempt"),
    reserved: reservedAmount(row),
    charge: chargeIn(row),
    openedAt: row.int("opened_at"),
    settledAt: row.int("settled_at"),
  };
}

function chargeIn(row: Row): Charge {
  return {
    basis: row.oneOf("basis", CHARGE_BASES),
    amount: chargedAmount(row),
    usage: {
      inputTokens: row.int("input_tokens"),
      outputTokens: row.int("output_tokens"),
      cachedInputTokens: row.int("cached_input_tokens"),
      reasoningTokens: row.int("reasoning_tokens"),
    },
  };
}
