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

const SEQ = /^\d{1,15}$/;

/** The place of an id. A cursor that is none is recognized by the store, and never sent back. */
export function readLivePlace(text: string): LivePlace {
  const end = text.lastIndexOf(";");
  if (end === -1) return { cursor: text, seq: null };
  const seq = text.slice(end + 1);
  return { cursor: text.slice(0, end), seq: SEQ.test(seq) ? Number(seq) : null };
}
