import type { Json } from "../../../core/json.ts";
import { readBlobValue } from "../../../engine/run/blob-hydrator.ts";
import type { Store, ToolCallRecord } from "../../../store/store.ts";

/**
 * The result of a call as its receipt has it, for the SDK: what the model saw, whole. A call that failed, was denied or was
 * not run throws, as a tool of the SDK does.
 */
export async function ledgerResult(store: Store, runId: string, call: ToolCallRecord): Promise<Json> {
  const { receipt, tool } = call;
  if (receipt === null) throw new Error(`Call ${call.toolCallId} has no receipt.`);
  const { output, blob } = receipt;
  const value = blob === null ? output.value : await readBlobValue({ store, runId }, blob, tool);
  if (output.type === "error-text")
    throw new Error(typeof value === "string" ? value : JSON.stringify(value));
  return value;
}
