import { blobReferenceOf, renderBlobReference } from "../../core/blob-reference.ts";
import { outputForModel } from "../../core/call/duplicate-note.ts";
import { LeaseLostError } from "../../core/errors.ts";
import { estimateResultTokens, type TextEstimator } from "../../core/usage/token-estimate.ts";
import type { NewReceipt } from "../../store/store.ts";
import type { ToolOutcome } from "../definition/tool-outcome.ts";
import { type RunWith, reach } from "../run/active-run.ts";
import type { Duplicate } from "./call-duplicate.ts";
import { callId, type PreparedCall } from "./call-prepared.ts";

/** The receipt of an outcome: its result inline, or a reference to a blob if it is over the threshold. */
export function makeReceipt(
  run: RunWith<"calls" | "model">,
  { callIndex, blobThresholdBytes }: Pick<PreparedCall, "callIndex" | "blobThresholdBytes">,
  outcome: ToolOutcome,
  estimate: TextEstimator = (text) => run.model.estimateTokens(text),
): NewReceipt {
  const { output } = outcome;
  if (outcome.uncertain) run.calls.uncertain.invalidate();
  const text = JSON.stringify(output.value);
  const inline = {
    ...outcome,
    callIndex,
    blob: null,
    tokens: shownTokens(outcome, text, estimate),
  };
  // A text of n characters has at most 3n bytes, so most results need not be encoded to know that they are small.
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

/** The tokens of the whole result as the model sees it. `text` is the JSON of its value. */
function shownTokens(outcome: ToolOutcome, text: string, estimate: TextEstimator): number {
  const shown = outputForModel(outcome);
  const shownText = shown === outcome.output ? text : JSON.stringify(shown.value);
  return estimateResultTokens(shown, shownText, estimate);
}

/** A receipt that is not stored yet, and the attempt that it is for. */
export type PendingReceipt = {
  readonly stepKey: number;
  readonly stepPath: string;
  readonly turnIndex: number;
  readonly attempt: number;
  readonly receipt: NewReceipt;
};

/** Stores a receipt. A worker that has lost its lease may not write to the run, and offers it to the next worker instead. */
export async function storeReceipt(
  run: RunWith<"runId" | "fence" | "store" | "observe">,
  pending: PendingReceipt,
): Promise<void> {
  const { stepKey, stepPath, turnIndex, attempt, receipt } = pending;
  reach(run, "tool:before-receipt", stepPath, turnIndex);
  try {
    await run.store.recordReceipt(run.fence, { stepKey, turnIndex, receipt });
  } catch (error) {
    if (LeaseLostError.isInstance(error) && attempt > 0)
      await run.store
        .offerLateReceipt({ runId: run.runId, stepKey, turnIndex, attempt, receipt })
        .catch(() => undefined);
    throw error;
  }
  reach(run, "tool:receipt-stored", stepPath, turnIndex);
}

/**
 * Emits `tool.deduplicated` for a call that was not run because an earlier one succeeded, and a warning if its arguments
 * were not those of the earlier one.
 */
export function emitDuplicate(
  run: RunWith<"runId" | "observe">,
  place: Pick<PreparedCall, "stepPath" | "turnIndex" | "callIndex">,
  tool: string,
  { outcome: { duplicateOf }, duplicate }: { readonly outcome: ToolOutcome; readonly duplicate?: Duplicate },
): void {
  if (duplicateOf === null) return;
  const toolCallId = callId(run, place);
  run.observe.emit({ type: "tool.deduplicated", runId: run.runId, toolCallId, tool, duplicateOf });
  const warning = duplicate?.warning ?? null;
  if (warning === null) return;
  const message = `${toolCallId} (${tool}) did not run: ${warning}`;
  run.observe.emit({ type: "warning", runId: run.runId, message });
}
