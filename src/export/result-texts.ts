import type { ToolOutput } from "../core/message.ts";
import type { Receipt, StoreReader } from "../store/store.ts";
import { counted } from "./figures.ts";
import { beginningOf, code, jsonFence, shortFence } from "./markdown.ts";

/** Where the whole of a cut text can be read. */
export const IN_RECEIPTS = "all of it is in `receipts.json`";

/** The part of a large result that is read: more than is ever shown. */
const KEPT_CHARACTERS = 5_000;

/** The shown part of a large result; null if it was garbage-collected, or is not large. */
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

/** Texts are stored as JSON. Invalid JSON was tampered with: `pawl verify` reports it, and it is shown here as it is. */
function textOf(json: string): string {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "string" ? value : json;
  } catch {
    return json;
  }
}

/** A result for a reader. A large one is shown with the id of its blob and its beginning. */
export function resultText(
  { output, blob }: Pick<Receipt, "output" | "blob">,
  beginning: string | null,
): string {
  if (blob === null) return jsonFence(output.value, IN_RECEIPTS);
  const kept = `${counted(blob.size, "byte")} in blob ${code(blob.blobId)}`;
  if (beginning === null) return `A large result: ${kept}, which no longer exists.`;
  return `${shortFence(beginning, `this is the beginning`)}\n\nA large result: ${kept}.`;
}
