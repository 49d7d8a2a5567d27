import type { Answer } from "../../../api/client.ts";

export type Call = Answer<"listCalls">["items"][number];
export type CallDetail = Answer<"getCall">;
export type Receipt = NonNullable<Call["receipt"]>;
export type CallAttempt = CallDetail["attempts"][number];

/** Of a call; the same words as in the glossary. */
export const CALL_STATUSES = [
  "prepared",
  "running",
  "in_doubt",
  "succeeded",
  "failed",
  "deduplicated",
  "cancelled",
] as const;
