import type { Json } from "../../core/json.ts";
import type { ToolOutput } from "../../core/message.ts";
import type { SessionEvent } from "../../core/session-event.ts";
import type { ToolCallRecord } from "../../store/store.ts";
import type { ToolOutcome } from "../definition/tool-outcome.ts";
import type { ActiveRun, RunWith } from "../run/active-run.ts";
import { readBlobValue } from "../run/blob-hydrator.ts";
import type { CallIdentity } from "./call-identity.ts";

/** What a call with the same identity came to before. */
export type EarlierCall =
  | { readonly kind: "none" }
  /** The effect was had; `output` is the whole result, `lacking` what it told the session and the present one lacks. */
  | {
      readonly kind: "succeeded";
      readonly toolCallId: string;
      readonly output: ToolOutput;
      readonly lacking: readonly SessionEvent[];
    }
  /** It failed, and may have happened all the same. */
  | { readonly kind: "uncertain"; readonly toolCallId: string; readonly failedWith: Json }
  /** Another effect of the same tool, had by an earlier execution of this step, that its code has not asked for again. */
  | { readonly kind: "left_over"; readonly toolCallId: string };

export const NO_EARLIER_CALL: EarlierCall = { kind: "none" };

/** What was had before: the same effect where it is wanted once, and a failure of this identity that may have happened. */
export async function earlierCall(
  run: ActiveRun,
  identity: CallIdentity,
  occurrence: number,
): Promise<EarlierCall> {
  if (identity.dedupe === "effect") {
    const had = await succeededBefore(run, identity, occurrence);
    if (had !== null) return had;
  }
  const call = await run.calls.uncertain.find(identity.hash);
  if (call === null || call.receipt === null) return NO_EARLIER_CALL;
  return { kind: "uncertain", toolCallId: call.toolCallId, failedWith: call.receipt.output.value };
}

/** What was never dispatched, or failed, had no effect that a second call could share. */
async function succeededBefore(
  run: ActiveRun,
  { keyOf }: CallIdentity,
  occurrence: number,
): Promise<EarlierCall | null> {
  for (let n = occurrence - 1; n >= 1; n--) {
    const call = await run.store.findToolCall(keyOf(n));
    if (call?.status === "succeeded" || call?.status === "deduplicated") return succeededCall(run, call);
  }
  return null;
}

/** A duplicate has the whole receipt of the first one, which it names. */
export async function succeededCall(run: ActiveRun, call: ToolCallRecord): Promise<EarlierCall> {
  const { receipt, tool } = call;
  if (receipt === null) return NO_EARLIER_CALL;
  const { output, blob, duplicateOf } = receipt;
  const toolCallId = duplicateOf ?? call.toolCallId;
  const lacking = await lackingEvents(run, call);
  if (blob === null) return { kind: "succeeded", toolCallId, output, lacking };
  const value = await readBlobValue(run, blob, tool);
  return { kind: "succeeded", toolCallId, output: { type: output.type, value } as ToolOutput, lacking };
}

/** What the call that had the effect told the session, where a rollback has made it forget that. */
async function lackingEvents(
  run: RunWith<"keeper" | "runId" | "store">,
  { toolCallId, receipt }: ToolCallRecord,
): Promise<readonly SessionEvent[]> {
  const first = receipt?.duplicateOf ?? null;
  const told = first === null ? receipt : ((await run.store.getToolCall(first))?.receipt ?? null);
  const events = told?.sessionEvents ?? [];
  const origin = first ?? toolCallId;
  if (events.length === 0 || (await run.store.isApplied(run.runId, origin))) return [];
  await run.keeper.prepareReplay(origin);
  return events;
}

/** What a call that has just come to its end is to the next one of its identity. */
export function earlierOf(
  toolCallId: string,
  { status, output, uncertain, duplicateOf }: ToolOutcome,
): EarlierCall {
  if (status === "succeeded" || status === "deduplicated")
    // The session hears of it from the first one.
    return { kind: "succeeded", toolCallId: duplicateOf ?? toolCallId, output, lacking: [] };
  return uncertain ? { kind: "uncertain", toolCallId, failedWith: output.value } : NO_EARLIER_CALL;
}
