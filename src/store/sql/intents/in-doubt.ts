import { NOT_SENT, PROCESS_ENDED } from "../../../core/call/tool-call-decision.ts";
import { toolCallId } from "../../../core/step-path.ts";
import type { EffectAttempt, LeftBehind } from "../../store.ts";
import type { AbandonedAttempts } from "../leases.ts";
import type { Row } from "../row.ts";
import { all, type SqlScript } from "../script.ts";
import type { RunRow } from "../tables/run-row.ts";
import { saveCallState } from "../tables/tool-call-rows.ts";
import { insertRow, type Transaction } from "../transaction.ts";
import { correlationOf } from "./tool-call-correlation.ts";

const CALL_COLUMNS = `tool_calls.call_no, tool_calls.step_no, step_path, tool_calls.turn_index, call_index,
  tool_calls.attempt, tool_calls.started_at, ends_by, tool_call_attempts.ended_at`;
const OUTCOMES = `LEFT JOIN receipts USING (run_key, call_no)
    LEFT JOIN tool_call_attempts USING (run_key, call_no, attempt)`;

/**
 * Calls that are `running` without a receipt, after their worker has stopped. Only the one open turn of a step, and
 * the calls of an unfinished code step, can have such calls: an index over all calls would cost a page in every
 * commit.
 */
const UNSETTLED_IN_TURNS = `
  SELECT ${CALL_COLUMNS}
    FROM run_steps JOIN granular_states USING (run_key, step_no)
    JOIN turns ON turns.run_key = run_steps.run_key AND turns.step_no = run_steps.step_no
     AND turns.turn_index = granular_states.turn_index + 1
    JOIN tool_calls ON tool_calls.run_key = run_steps.run_key
     AND tool_calls.call_no BETWEEN first_call_no AND first_call_no + calls - 1
    LEFT JOIN receipts ON receipts.run_key = tool_calls.run_key AND receipts.call_no = tool_calls.call_no
    LEFT JOIN tool_call_attempts ON tool_call_attempts.run_key = tool_calls.run_key
     AND tool_call_attempts.call_no = tool_calls.call_no AND tool_call_attempts.attempt = tool_calls.attempt
   WHERE run_steps.run_key = ? AND run_steps.status <> 'succeeded' AND tool_calls.status = 'running'
     AND receipts.call_no IS NULL
   ORDER BY tool_calls.call_no`;
const UNSETTLED_IN_CODE = `
  SELECT ${CALL_COLUMNS}
    FROM run_steps JOIN tool_calls USING (run_key, step_no) ${OUTCOMES}
   WHERE run_key = ? AND run_steps.status <> 'succeeded' AND tool_calls.turn_index = 0
     AND tool_calls.status = 'running' AND receipts.status IS NULL
   ORDER BY tool_calls.call_no`;

function* unsettledCalls({ key }: RunRow): SqlScript<readonly Row[]> {
  return [...(yield* all(UNSETTLED_IN_TURNS, key)), ...(yield* all(UNSETTLED_IN_CODE, key))];
}

/** The ids of the calls that a worker has dispatched and whose outcome is not stored. */
export function* runningCalls(run: RunRow): SqlScript<string[]> {
  return (yield* unsettledCalls(run)).map((row) => idOf(run, row));
}

function idOf({ runId }: RunRow, row: Row): string {
  return toolCallId(runId, row.text("step_path"), row.int("turn_index"), row.int("call_index"));
}

/** The attempts of such calls that were certainly never sent, and have not ended on record. */
export function* unsentCalls(run: RunRow, left: AbandonedAttempts): SqlScript<LeftBehind["unsent"]> {
  return (yield* unsettledCalls(run))
    .filter((row) => !left.mayHaveSent(effectAttemptOf(row)) && row.optionalInt("ended_at") === null)
    .map((row) => ({ toolCallId: idOf(run, row), attempt: row.int("attempt") }));
}

function effectAttemptOf(row: Row): EffectAttempt {
  return {
    stepKey: row.int("step_no"),
    turnIndex: row.int("turn_index"),
    callIndex: row.int("call_index"),
    attempt: row.int("attempt"),
  };
}

type LeftCall = {
  readonly step: string;
  readonly turn: number;
  readonly call: number;
  readonly attempt: number;
};

/** The calls that a worker left running, and the facts for the event. */
export type LeftCalls = {
  readonly inDoubt: readonly LeftCall[];
  readonly facts: { readonly inDoubt?: readonly LeftCall[]; readonly notSent?: readonly LeftCall[] };
};

/**
 * Puts calls in doubt whose outcome can no longer be learned, and records their attempts as lost. A call that was
 * certainly never sent is not in doubt: its attempt is recorded as one that did nothing, and the doubts of earlier
 * attempts stay.
 */
export function* leaveRunningCalls(
  tx: Transaction,
  run: RunRow,
  left: AbandonedAttempts,
): SqlScript<LeftCalls> {
  const [inDoubt, notSent]: [LeftCall[], LeftCall[]] = [[], []];
  for (const row of yield* unsettledCalls(run)) {
    const call = {
      step: row.text("step_path"),
      turn: row.int("turn_index"),
      call: row.int("call_index"),
      attempt: row.int("attempt"),
    };
    const mayBeSent = left.mayHaveSent(effectAttemptOf(row));
    // An attempt that has already ended on record, before the next one could start, is kept as it is.
    const isNew = row.optionalInt("ended_at") === null;
    if (isNew) {
      const ended = mayBeSent ? LOST[`${left.hasEnded}`] : UNSENT;
      insertEndedAttempt(tx, run, row, { ...ended, correlationId: yield* correlationOf(run.key, call) });
    }
    if (mayBeSent || !isNew) putInDoubt(tx, run, row, left);
    (mayBeSent || !isNew ? inDoubt : notSent).push(call);
  }
  return {
    inDoubt,
    facts: {
      ...(inDoubt.length === 0 ? {} : { inDoubt }),
      ...(notSent.length === 0 ? {} : { notSent }),
    },
  };
}

type AttemptEnd = { readonly outcome: string; readonly code: string | null; readonly detail: string | null };

const UNSENT: AttemptEnd = {
  outcome: "not_applied",
  code: NOT_SENT,
  detail: "Its worker stopped before it was sent.",
};

/** By whether the attempt has surely ended: that is known only if the process of its worker has. */
const LOST: { readonly [hasEnded in "true" | "false"]: AttemptEnd } = {
  true: { outcome: "lost", code: PROCESS_ENDED, detail: null },
  false: { outcome: "lost", code: null, detail: null },
};

function insertEndedAttempt(
  tx: Transaction,
  run: RunRow,
  row: Row,
  ended: AttemptEnd & { readonly correlationId: string | null },
): void {
  insertRow(tx, run, "tool_call_attempts", {
    call_no: row.int("call_no"),
    attempt: row.int("attempt"),
    started_at: row.int("started_at"),
    ended_at: tx.now,
    outcome: ended.outcome,
    error_code: ended.code,
    error_detail: ended.detail,
    external_correlation_id: ended.correlationId,
    late_at: null,
    late_status: null,
    late_output: null,
  });
}

function putInDoubt(tx: Transaction, run: RunRow, row: Row, { hasEnded }: AbandonedAttempts): void {
  const endsBy = row.int("ends_by");
  saveCallState(tx, run, row.int("call_no"), {
    status: "in_doubt",
    attempt: row.int("attempt"),
    startedAt: row.int("started_at"),
    endsBy: hasEnded ? Math.min(endsBy, tx.now) : endsBy,
  });
}
