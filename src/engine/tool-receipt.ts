import { blobReferenceOf, renderBlobReference } from "../core/blob-reference.ts";
import type { ToolMessage, ToolOutput } from "../core/message.ts";
import type { TokenEstimator } from "../core/token-estimate.ts";
import type { NewReceipt } from "../store/store.ts";
import type { ToolOutcome } from "./tool-gateway.ts";

/** What stands around a result in its message: its role, its kind, the names of its call and tool. */
const TOKENS_AROUND_RESULT = 24;

/** The receipt of an outcome: its result inline, or as a reference where it is strictly over the threshold. */
export function makeReceipt(
  callIndex: number,
  outcome: ToolOutcome,
  blobThresholdBytes: number,
  estimate: TokenEstimator,
): NewReceipt {
  const { status, output, errorCode } = outcome;
  const text = JSON.stringify(output.value);
  const tokens = TOKENS_AROUND_RESULT + estimate(text);
  const inline = { callIndex, status, output, blob: null, tokens, errorCode };
  // A text of n characters has at most 3n bytes: most results need not be encoded to know that they are small.
  if (text.length * 3 <= blobThresholdBytes) return inline;
  const bytes = Buffer.from(text, "utf8");
  if (bytes.byteLength <= blobThresholdBytes) return inline;
  const reference = blobReferenceOf(bytes);
  return {
    ...inline,
    output: { type: output.type, value: renderBlobReference(reference) },
    blob: { blobId: reference.blobId, bytes },
  };
}

export function resultMessage(toolCallId: string, toolName: string, output: ToolOutput): ToolMessage {
  return { role: "tool", content: [{ type: "tool-result", toolCallId, toolName, output }] };
}
