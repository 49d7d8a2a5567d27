import type { Json } from "../../core/json.ts";
import type { Receipt, ToolCallRecord } from "../../store/store.ts";
import type { ShownText, ShownValue, TranscriptCall } from "./transcript-items.ts";

/** A page has some fifty items: with this, it stays below a megabyte or two. */
const MOST_CHARACTERS = 20_000;

export function shownText(text: string): ShownText {
  // Well-formed, since the cut may split a surrogate pair.
  const shown = text.length <= MOST_CHARACTERS ? text : text.slice(0, MOST_CHARACTERS).toWellFormed();
  return { text: shown, characters: text.length };
}

export function shownValue(value: Json): ShownValue {
  const json = JSON.stringify(value);
  return json.length <= MOST_CHARACTERS
    ? { kind: "whole", value }
    : { kind: "beginning", json: shownText(json) };
}

/** A large result is a reference to its blob. */
function resultValue({ blob, output }: Receipt): ShownValue {
  return blob === null ? shownValue(output.value) : { kind: "blob", blobId: blob.blobId, size: blob.size };
}

export function transcriptCall(call: ToolCallRecord): TranscriptCall {
  const { toolCallId, namespace, tool, effect, recovery, status, attempt, request, receipt } = call;
  return {
    toolCallId,
    namespace,
    tool,
    effect,
    recovery,
    status,
    attempt,
    request: shownValue(request),
    result: receipt === null ? null : shownResult(receipt),
  };
}

function shownResult(receipt: Receipt): TranscriptCall["result"] {
  const { source, errorCode, uncertain, duplicateOf, output } = receipt;
  return { source, errorCode, uncertain, duplicateOf, type: output.type, value: resultValue(receipt) };
}
