import { toolCallId } from "../../core/step-path.ts";
import type { Database } from "./database.ts";
import type { RunRow } from "./run-row.ts";
import { correlationOf } from "./tool-call-correlation.ts";
import { tryDigest } from "./tool-call-rows.ts";
import { TURNS_PER_STEP } from "./turn-number.ts";

/**
 * Calls that say `running` and have no receipt, where nobody is at them any more who could tell. Only the one open turn
 * of a step, and the calls of a code step that did not finish, can have such calls: an index over all calls would cost a
 * page in every commit.
 */
const UNSETTLED = `
  SELECT tool_calls.call_no, step_path, tool_calls.turn_index, call_index, tool_calls.attempt
    FROM run_steps JOIN granular_states USING (step_no)
    JOIN turns ON turn_no = run_steps.step_no * ${TURNS_PER_STEP} + granular_states.turn_index + 1
    JOIN tool_calls ON tool_calls.call_no BETWEEN first_call_no AND first_call_no + calls - 1
   WHERE run_no = ?1 AND run_steps.status <> 'succeeded' AND tool_calls.status = 'running'
     AND NOT EXISTS (SELECT 1 FROM receipts WHERE receipts.call_no = tool_calls.call_no)
  UNION ALL
  SELECT call_no, step_path, turn_index, call_index, attempt
    FROM run_steps JOIN tool_calls USING (step_no)
   WHERE run_no = ?1 AND run_steps.status <> 'succeeded' AND turn_index = 0 AND tool_calls.status = 'running'
     AND NOT EXISTS (SELECT 1 FROM receipts WHERE receipts.call_no = tool_calls.call_no)`;

/** The ids of the calls that a worker has dispatched and not heard of. */
export function callsUnderWay(database: Database, run: RunRow): string[] {
  return database
    .all(UNSETTLED, run.runNo)
    .map((row) => toolCallId(run.runId, row.text("step_path"), row.int("turn_index"), row.int("call_index")));
}

export type DoubtedCall = {
  readonly step: string;
  readonly turn: number;
  readonly call: number;
  readonly attempt: number;
  readonly try: string;
};

/** Puts the calls in doubt that nobody can tell of any more, and keeps their tries as lost. Gives which they are. */
export function doubtRunningCalls(
  database: Database,
  run: RunRow,
  now: number,
  hasEnded: boolean,
): DoubtedCall[] {
  return database.all(UNSETTLED, run.runNo).map((row) => {
    const callNo = row.int("call_no");
    const lost = {
      step: row.text("step_path"),
      turn: row.int("turn_index"),
      call: row.int("call_index"),
      attempt: row.int("attempt"),
    };
    // A try that has told how it ended, and was to be followed by another, is kept as it is.
    database.run(
      `INSERT OR IGNORE INTO tool_call_tries
         SELECT ?, call_no, attempt, started_at, ?, 'lost', NULL, NULL, ?, NULL, NULL, NULL
           FROM tool_calls WHERE call_no = ?`,
      run.runNo,
      now,
      correlationOf(database, run.runNo, lost),
      callNo,
    );
    database.run(
      `UPDATE tool_calls SET status = 'in_doubt', ends_by = CASE WHEN ? THEN min(ends_by, ?) ELSE ends_by END
        WHERE call_no = ?`,
      Number(hasEnded),
      now,
      callNo,
    );
    return { ...lost, try: tryDigest(database, run, callNo, lost.attempt) };
  });
}
