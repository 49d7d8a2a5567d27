import { parseToolCallId } from "../../core/step-path.ts";
import { parseWaitId } from "../../core/wait.ts";

/** The run that a wait belongs to; null for an id that is none. */
export function runOfWait(id: string): string | null {
  return parseWaitId(id)?.runId ?? null;
}

/** The run that a tool call belongs to; null for an id that is none. */
export function runOfCall(id: string): string | null {
  return parseToolCallId(id)?.runId ?? null;
}
