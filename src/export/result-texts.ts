import type { ToolOutput } from "../core/message.ts";
import type { Receipt, StoreReader, ToolCallRecord } from "../store/store.ts";
import { counted } from "./figures.ts";
import { beginningOf, code, jsonFence, shortFence } from "./markdown.ts";

/** Large results, by their blob: what a reader sees of each, or null where it was collected. */
export type LargeResults = ReadonlyMap<string, string | null>;

/** Where what was cut can be read. */
export const IN_RECEIPTS = "all of it is in `receipts.json`";

/** What is kept of a large result in memory: more than is shown of any. */
const KEPT_CHARACTERS = 5_000;

/** One after the other, and only the beginning of each is kept: together they may be more than fits. */
export async function readLargeResults(
  reader: StoreReader,
  runId: string,
  calls: readonly ToolCallRecord[],
): Promise<LargeResults> {
  const results = new Map<string, string | null>();
  for (const { receipt } of calls) {
    if (receipt === null || receipt.blob === null || results.has(receipt.blob.blobId)) continue;
    const bytes = await reader.readBlob(runId, receipt.blob.blobId);
    results.set(receipt.blob.blobId, bytes === null ? null : shownOf(bytes, receipt.output.type));
  }
  return results;
}

function shownOf(bytes: Uint8Array, type: ToolOutput["type"]): string {
  const json = Buffer.from(bytes).toString("utf8");
  return beginningOf(type === "json" ? json : textOf(json), KEPT_CHARACTERS);
}

/** A text is kept as JSON. Where it is none, somebody changed it: `pawl verify` says so, and here it is shown. */
function textOf(json: string): string {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "string" ? value : json;
  } catch {
    return json;
  }
}

/** A result for a reader; one that is not in its receipt with the name of its blob. */
export function resultText({ output, blob }: Pick<Receipt, "output" | "blob">, large: LargeResults): string {
  if (blob === null) return jsonFence(output.value, IN_RECEIPTS);
  const kept = `${counted(blob.size, "byte")} in blob ${code(blob.blobId)}`;
  const beginning = large.get(blob.blobId) ?? null;
  if (beginning === null) return `A large result: ${kept}, which is not there any more.`;
  return `${shortFence(beginning, `this is the beginning`)}\n\nA large result: ${kept}.`;
}
