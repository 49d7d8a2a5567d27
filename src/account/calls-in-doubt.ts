import type { ToolCallRecord, WaitRecord } from "../store/store.ts";

/** Waits whose call has only asked for something: it knows what it is waiting for, and nothing of it is unknown. */
const HARMLESS: readonly WaitRecord["kind"][] = ["time", "message", "question"];

/** The calls whose outcome is unknown. The store keeps those that sleep or ask in the same state. */
export function callsInDoubt(
  calls: readonly ToolCallRecord[],
  waits: readonly WaitRecord[],
): readonly ToolCallRecord[] {
  const known = new Set(
    waits
      .filter(({ status, kind }) => status === "open" && HARMLESS.includes(kind))
      .map(({ toolCallId }) => toolCallId),
  );
  return calls.filter(({ status, toolCallId }) => status === "in_doubt" && !known.has(toolCallId));
}
