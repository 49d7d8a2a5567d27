import { isJsonObject } from "../../../core/json.ts";
import type { Fence, ToolCallCorrelation } from "../../store.ts";
import { all, type SqlScript } from "../script.ts";
import type { RunKey } from "../table-list.ts";
import { fencedStep, parseJson, recordEvent, stepHead } from "../tables/run-row.ts";
import { callNoAt, ledgerCall, settledMeanwhile } from "../tables/tool-call-rows.ts";
import { changeRow, type Transaction } from "../transaction.ts";

/**
 * Kept only in the event while the attempt is running: its row is written when it ends, or when the next worker finds
 * it lost. A column would cost a byte in every call for the few that need it, and be one more thing to verify.
 */
export function* correlateToolCall(
  tx: Transaction,
  fence: Fence,
  correlation: ToolCallCorrelation,
): SqlScript<void> {
  const { stepKey, turnIndex, callIndex, attempt, correlationId } = correlation;
  const run = yield* fencedStep(tx, fence, stepKey);
  const callNo = yield* callNoAt(run, correlation);
  const call = yield* ledgerCall(run, callNo);
  if (call.hasReceipt) throw settledMeanwhile(callNo);
  if (attempt < 1 || attempt !== call.attempt)
    throw new Error(`Attempt ${attempt} of call ${turnIndex}.${callIndex} is not its last one.`);
  if (call.hasEnded)
    changeRow(
      tx,
      run,
      "tool_call_attempts",
      { call_no: callNo, attempt },
      { external_correlation_id: correlationId },
    );
  recordEvent(tx, run, "call.correlated", {
    step: (yield* stepHead(run, stepKey)).path,
    turn: turnIndex,
    call: callIndex,
    attempt,
    correlationId,
  });
}

export type RunningAttempt = {
  readonly step: string;
  readonly turn: number;
  readonly call: number;
  readonly attempt: number;
};

const EVENTS_BEFORE = `SELECT seq, type, data FROM events
  WHERE run_key = ? AND seq < ? AND type IN ('call.correlated', 'calls.started', 'turn.journaled')
  ORDER BY seq DESC LIMIT 50`;

/**
 * The correlation id of a running attempt, read backwards from the newest event, no further than to where the attempt
 * began.
 */
export function* correlationOf(key: RunKey, running: RunningAttempt): SqlScript<string | null> {
  let before = Number.MAX_SAFE_INTEGER;
  for (;;) {
    const events = yield* all(EVENTS_BEFORE, key, before);
    for (const event of events) {
      before = event.int("seq");
      const found = correlationIn(event.text("type"), event.text("data"), running);
      if (found !== undefined) return found;
    }
    if (events.length === 0) return null;
  }
}

/** Undefined if the event says nothing about the attempt: then an earlier one may. */
function correlationIn(type: string, text: string, running: RunningAttempt): string | null | undefined {
  const data = parseJson(text);
  if (!isJsonObject(data) || data.step !== running.step || data.turn !== running.turn) return undefined;
  switch (type) {
    case "call.correlated":
      if (data.call !== running.call) return undefined;
      return data.attempt === running.attempt && typeof data.correlationId === "string"
        ? data.correlationId
        : null;
    case "calls.started":
      return Array.isArray(data.calls) && data.calls.includes(running.call) ? null : undefined;
    default:
      return null;
  }
}
