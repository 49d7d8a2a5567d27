import type { SqlCondition } from "./sql-condition.ts";

/** True for an open wait that people answer. As it is in the index of these waits. */
export const ASKS_PEOPLE = "waits.status = 'open' AND waits.kind <> 'time' AND waits.kind <> 'message'";

/**
 * True for a call in doubt that has no receipt, and that no person has decided about. A call that waits for something else
 * than that decision is stored as one in doubt, too: its last attempt has ended without a receipt.
 */
export const IS_IN_DOUBT = `tool_calls.status = 'in_doubt'
   AND NOT EXISTS (SELECT 1 FROM receipts
     WHERE receipts.run_key = tool_calls.run_key AND receipts.call_no = tool_calls.call_no)
   AND NOT EXISTS (SELECT 1 FROM waits WHERE waits.run_key = tool_calls.run_key AND waits.call_no = tool_calls.call_no
     AND waits.attempt = tool_calls.attempt AND (waits.kind <> 'in_doubt' OR waits.status = 'answered'))`;

/** More than any store has; the limit makes SQLite read the index of these waits, and not the one of all open waits. */
const ANY_NUMBER = Number.MAX_SAFE_INTEGER;

/** The keys of the runs that a person has to look at, from the indexes of what asks for one. */
export function neededKeys(now: number): SqlCondition {
  return {
    text: `SELECT needed.run_key FROM (
        SELECT asking.run_key FROM (SELECT waits.run_key FROM waits WHERE ${ASKS_PEOPLE} ORDER BY waits.created_at LIMIT ?) AS asking
        UNION SELECT running.run_key FROM runs AS running WHERE running.status = 'running' AND running.lease_until <= ?
        UNION SELECT tool_calls.run_key FROM tool_calls WHERE ${IS_IN_DOUBT}) AS needed
      WHERE NOT EXISTS (SELECT 1 FROM runs AS away WHERE away.run_key = needed.run_key AND away.status = 'moved')`,
    values: [ANY_NUMBER, now],
  };
}
