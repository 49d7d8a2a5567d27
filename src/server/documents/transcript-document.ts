import type { TranscriptItem } from "../../account/transcript/transcript-items.ts";
import type { JsonObject } from "../../core/json.ts";

/** An item of a transcript: where it is, and what else there is to say about an item of its kind. */
export function transcriptItemDocument(item: TranscriptItem) {
  const { id, kind, at, seq, ...content } = item;
  const { step = null, turn = null, isAbandoned = false, ...data } = content as ItemContent;
  return { id, kind, at, seq, step, turn, isAbandoned, data };
}

/** What items of some kinds have, and the rest, which is JSON. */
type ItemContent = JsonObject & {
  readonly step?: string | null;
  readonly turn?: number;
  readonly isAbandoned?: boolean;
};
