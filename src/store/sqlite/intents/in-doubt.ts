import { NOT_SENT, PROCESS_ENDED } from "../../../core/call/tool-call-decision.ts";
import { toolCallId } from "../../../core/step-path.ts";
import type { EffectAttempt, LeftBehind } from "../../store.ts";
import type { Database, Row } from "../database.ts";
import type { AbandonedAttempts } from "../leases.ts";
import { coverRow } from "../tables/event-rows.ts";
import type { RunRow } from "../tables/run-row.ts";
import { callAttemptDigest } from "../tables/tool-call-rows.ts";
import { TURNS_PER_STEP } from "../tables/turn-number.ts";
import { correlationOf } from "./tool-call-correlation.ts";

/**
 * Calls that are `running` without a receipt, after their worker has stopped. Only the one open turn of a step, and
 * the calls of an unfinished code step, can have such calls: an index over all calls would cost a page in every
 * commit.
 */
const UNSETTLED = `
  SELECT tool_calls.call_no, tool_calls.step_no, step_path, tool_calls.turn_index, call_index, tool_calls.attempt
    FROM run_steps JOIN granular_states USING (step_no)
    JOIN turns ON turn_no = run_steps.step_no * ${TURNS_PER_STEP} + granular_states.turn_index + 1
    JOIN tool_calls ON tool_calls.call_no BETWEEN first_call_no AND first_call_no + calls - 1
   WHERE run_no = ? AND run_steps.status <> 'succeeded' AND tool_calls.status = 'running'
     AND NOT EXISTS (SELECT 1 FROM receipts WHERE receipts.call_no = tool_calls.call_no)
  UNION ALL
  SELECT call_no, step_no, step_path, turn_index, call_index, attempt
    FROM run_steps JOIN tool_calls USING (step_no)
   WHERE run_no = ? AND run_steps.status <> 'succeeded' AND turn_index = 0 AND tool_calls.status = 'running'
     AND NOT EXISTS (SELECT 1 FROM receipts WHERE receipts.call_no = tool_calls.call_no)`;

/** The ids of the calls that a worker has dispatched and whose outcome is not stored. */
export function runningCalls(database: Database, run: RunRow): string[] {
  return database
    .all(UNSETTLED, run.runNo, run.runNo)
    .map((row) => toolCallId(run.runId, row.text("step_path"), row.int("turn_index"), row.int("call_index")));
}

/** The attempts of such calls that were certainly never sent, and have not ended on record. */
export function unsentCalls(database: Database, run: RunRow, left: AbandonedAttempts): LeftBehind["unsent"] {
  return database
    .all(UNSETTLED, run.runNo, run.runNo)
    .filter((row) => !left.mayHaveSent(effectAttemptOf(row)) && !hasEndedAttempt(database, run, row))
    .map((row) => ({
      toolCallId: toolCallId(run.runId, row.text("step_path"), row.int("turn_index"), row.int("call_index")),
      attempt: row.int("attempt"),
    }));
}

function hasEndedAttempt(database: Database, { runNo }: RunRow, row: Row): boolean {
  const found = database.get(
    "SELECT 1 AS found FROM tool_call_tries WHERE run_no = ? AND call_no = ? AND attempt = ?",
    runNo,
    row.int("call_no"),
    row.int("attempt"),
  );
  return found !== null;
}

function effectAttemptOf(row: Row): EffectAttempt {
  return {
    stepKey: row.int("step_no"),
    turnIndex: row.int("turn_index"),
    callIndex: row.int("call_index"),
    attempt: row.int("attempt"),
  };
}

type DoubtedCall = {
  readonly step: string;
  readonly turn: number;
  readonly call: number;
  readonly attempt: number;
  readonly try: string;
};

/** The calls that a worker left running, and the facts for the event. */
export type LeftCalls = {
  readonly inDoubt: readonly DoubtedCall[];
  readonly facts: { readonly inDoubt?: readonly DoubtedCall[]; readonly notSent?: readonly DoubtedCall[] };
};

/**
 * Puts calls in doubt whose outcome can no longer be learned, and records their attempts as lost. A call that was
 * certainly never sent is not in doubt: its attempt is recorded as one that did nothing, and the doubts of earlier
 * attempts stay.
 */
export function leaveRunningCalls(
  database: Database,
  run: RunRow,
  now: number,
  left: AbandonedAttempts,
): LeftCalls {
  const [inDoubt, notSent]: [DoubtedCall[], DoubtedCall[]] = [[], []];
  for (const row of database.all(UNSETTLED, run.runNo, run.runNo)) {
    const callNo = row.int("call_no");
    const place = {
      step: row.text("step_path"),
      turn: row.int("turn_index"),
      call: row.int("call_index"),
      attempt: row.int("attempt"),
    };
    const mayBeSent = left.mayHaveSent(effectAttemptOf(row));
    const correlationId = correlationOf(database, run.runNo, place);
    const ended = mayBeSent ? LOST[`${left.hasEnded}`] : UNSENT;
    // An attempt that has already ended on record, before the next one could start, is kept as it is.
    const isNew = insertEndedAttempt(database, run, now, callNo, { ...ended, correlationId });
    if (mayBeSent || !isNew) putInDoubt(database, run, now, callNo, left);
    const kept = { ...place, try: callAttemptDigest(database, run, callNo, place.attempt) };
    (mayBeSent || !isNew ? inDoubt : notSent).push(kept);
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
  database: Database,
  run: RunRow,
  now: number,
  callNo: number,
  left: AttemptEnd & { readonly correlationId: string | null },
): boolean {
  const kept = database.run(
    `INSERT OR IGNORE INTO tool_call_tries
       SELECT ?, call_no, attempt, started_at, ?, ?, ?, ?, ?, NULL, NULL, NULL
         FROM tool_calls WHERE call_no = ?`,
    run.runNo,
    now,
    left.outcome,
    left.code,
    left.detail,
    left.correlationId,
    callNo,
  );
  return kept === 1;
}

function putInDoubt(
  database: Database,
  run: RunRow,
  now: number,
  callNo: number,
  { hasEnded }: AbandonedAttempts,
): void {
  database.run(
    `UPDATE tool_calls SET status = 'in_doubt', ends_by = CASE WHEN ? THEN min(ends_by, ?) ELSE ends_by END
      WHERE call_no = ?`,
    Number(hasEnded),
    now,
    callNo,
  );
  coverRow(run, "call", callNo);
}
