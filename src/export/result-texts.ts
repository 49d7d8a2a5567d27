import type { ToolOutput } from "../core/message.ts";
import type { Receipt, StoreReader } from "../store/store.ts";
import { counted } from "./figures.ts";
import { beginningOf, code, jsonFence, shortFence } from "./markdown.ts";

/** Where what was cut can be read. */
export const IN_RECEIPTS = "all of it is in `receipts.json`";

/** What is kept of a large result: more than is shown of any. */
const KEPT_CHARACTERS = 5_000;

/** What a reader sees of a large result; null where it was collected, or is none. */
export async function readLargeResult(
  reader: StoreReader,
  runId: string,
  { blob, output }: Pick<Receipt, "output" | "blob">,
): Promise<string | null> {
  const bytes = blob === null ? null : await reader.readBlob(runId, blob.blobId);
  return bytes === null ? null : shownOf(bytes, output.type);
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

/** A result for a reader; one that is not in its receipt with the name of its blob, and what it begins with. */
export function resultText(
  { output, blob }: Pick<Receipt, "output" | "blob">,
  beginning: string | null,
): string {
  if (blob === null) return jsonFence(output.value, IN_RECEIPTS);
  const kept = `${counted(blob.size, "byte")} in blob ${code(blob.blobId)}`;
  if (beginning === null) return `A large result: ${kept}, which is not there any more.`;
  return `${shortFence(beginning, `this is the beginning`)}\n\nA large result: ${kept}.`;
}
