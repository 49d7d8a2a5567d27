import type { Json } from "../core/json.ts";
import type { ToolOutput } from "../core/message.ts";
import type { ToolCallRecord } from "../store/store.ts";
import { readBlobValue } from "./hydrator.ts";
import type { RunHandle } from "./run-handle.ts";
import type { CallIdentity } from "./tool-call-plan.ts";

/** What a call with the same identity came to before. */
export type EarlierCall =
  | { readonly kind: "none" }
  /** The effect was had; `output` is the whole result. */
  | { readonly kind: "succeeded"; readonly toolCallId: string; readonly output: ToolOutput }
  /** It failed, and may have happened all the same. */
  | { readonly kind: "uncertain"; readonly toolCallId: string; readonly failedWith: Json }
  /** Another effect of the same tool, had by an earlier execution of this step, that its code has not asked for again. */
  | { readonly kind: "left_over"; readonly toolCallId: string };

export const NO_EARLIER_CALL: EarlierCall = { kind: "none" };

/** Looks at the calls before the n-th. What was never dispatched, or only repeats another's receipt, says nothing. */
export async function earlierCall(
  run: RunHandle,
  { dedupe, keyOf }: CallIdentity,
  occurrence: number,
): Promise<EarlierCall> {
  let uncertain: EarlierCall = NO_EARLIER_CALL;
  for (let n = occurrence - 1; n >= 1; n--) {
    const call = await run.store.findToolCall(keyOf(n));
    const receipt = call?.receipt ?? null;
    if (call === null || receipt === null) continue;
    if (receipt.status === "cancelled") continue;
    if (dedupe === "call") return uncertaintyOf(call);
    if (receipt.status !== "failed") return succeededCall(run, call);
    if (uncertain.kind === "none") uncertain = uncertaintyOf(call);
  }
  return uncertain;
}

function uncertaintyOf({ toolCallId, receipt }: ToolCallRecord): EarlierCall {
  if (receipt === null || !receipt.uncertain) return NO_EARLIER_CALL;
  return { kind: "uncertain", toolCallId, failedWith: receipt.output.value };
}

/** A duplicate has the whole receipt of the first one, which it names. */
async function succeededCall(run: RunHandle, call: ToolCallRecord): Promise<EarlierCall> {
  const { receipt, tool } = call;
  if (receipt === null) return NO_EARLIER_CALL;
  const { output, blob, duplicateOf } = receipt;
  const toolCallId = duplicateOf ?? call.toolCallId;
  if (blob === null) return { kind: "succeeded", toolCallId, output };
  const value = await readBlobValue(run, blob, tool);
  return { kind: "succeeded", toolCallId, output: { type: output.type, value } as ToolOutput };
}
