import { z } from "zod";
import type { RunChangeCursor } from "../../store/store.ts";

/** Where a stream of live events continues: behind this change of a run, and behind this event of the run that it follows. */
export type LivePlace = {
  readonly cursor: RunChangeCursor;
  readonly seq: number | null;
};

/** The id of an event: `cursor`, or `cursor;seq`. */
export function livePlaceText({ cursor, seq }: LivePlace): string {
  return seq === null ? cursor : `${cursor};${seq}`;
}

const SEQ = z.coerce.number().int().min(0);

/** The place of an id. A cursor that is none is recognized by the store. */
export function readLivePlace(text: string): LivePlace {
  const end = text.lastIndexOf(";");
  if (end === -1) return { cursor: text, seq: null };
  const seq = SEQ.safeParse(text.slice(end + 1));
  return { cursor: text.slice(0, end), seq: seq.success ? seq.data : null };
}
