import { isJsonObject } from "../../../core/json.ts";
import type { Fence, ToolCallCorrelation } from "../../store.ts";
import type { Database } from "../database.ts";
import { fencedStep, parseJson, recordEvent, stepHead } from "../tables/run-row.ts";
import { callAttemptDigest, callNoAt, hasReceipt, settledMeanwhile } from "../tables/tool-call-rows.ts";

/**
 * Kept only in the event while the attempt is running: its row is written when it ends, or when the next worker finds
 * it lost. A column would cost a byte in every call for the few that need it, and be one more thing to verify.
 */
export function correlateToolCall(
  database: Database,
  now: number,
  fence: Fence,
  correlation: ToolCallCorrelation,
): void {
  const { stepKey, turnIndex, callIndex, attempt, correlationId } = correlation;
  const run = fencedStep(database, fence, stepKey);
  const callNo = callNoAt(database, run, correlation);
  if (hasReceipt(database, callNo)) throw settledMeanwhile(callNo);
  const last = database.get("SELECT attempt FROM tool_calls WHERE call_no = ?", callNo)?.int("attempt");
  if (attempt < 1 || attempt !== last)
    throw new Error(`Attempt ${attempt} of call ${turnIndex}.${callIndex} is not its last one.`);
  const hasEnded = database.run(
    "UPDATE tool_call_tries SET external_correlation_id = ? WHERE run_no = ? AND call_no = ? AND attempt = ?",
    correlationId,
    run.runNo,
    callNo,
    attempt,
  );
  recordEvent(database, run, now, "call.correlated", {
    step: stepHead(database, run, stepKey).path,
    turn: turnIndex,
    call: callIndex,
    attempt,
    correlationId,
    ...(hasEnded === 0 ? {} : { try: callAttemptDigest(database, run, callNo, attempt) }),
  });
}

export type RunningAttempt = {
  readonly step: string;
  readonly turn: number;
  readonly call: number;
  readonly attempt: number;
};

/**
 * The correlation id of a running attempt, read backwards from the newest event, no further than to where the attempt
 * began.
 */
export function correlationOf(database: Database, runNo: number, running: RunningAttempt): string | null {
  const events = database.iterate(
    `SELECT type, data FROM events
      WHERE run_no = ? AND type IN ('call.correlated', 'calls.started', 'turn.journaled') ORDER BY seq DESC`,
    runNo,
  );
  for (const event of events) {
    const data = parseJson(event.text("data"));
    if (!isJsonObject(data) || data.step !== running.step || data.turn !== running.turn) continue;
    switch (event.text("type")) {
      case "call.correlated":
        if (data.call !== running.call) continue;
        return data.attempt === running.attempt && typeof data.correlationId === "string"
          ? data.correlationId
          : null;
      case "calls.started":
        if (Array.isArray(data.calls) && data.calls.includes(running.call)) return null;
        continue;
      default:
        return null;
    }
  }
  return null;
}
