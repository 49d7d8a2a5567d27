import { hash } from "node:crypto";
import { ConfigurationError } from "../../core/errors.ts";

/** A place in what a viewer of a run is given: an event of the log, and the number of what was made of it. */
export type WatchPlace = { readonly seq: number; readonly index: number };

const LAST_INDEX = 999_999;

export const BEGINNING: WatchPlace = { seq: 0, index: 0 };

export function cursorOf(runId: string, { seq, index }: WatchPlace): string {
  return `${seq}.${index}.${markOf(runId)}`;
}

/** Behind everything that is made of an event. */
export function cursorBehind(runId: string, seq: number): string {
  return cursorOf(runId, { seq, index: LAST_INDEX });
}

/** The place of a cursor. Throws for a text that is none, or is one of another run. */
export function placeOf(runId: string, cursor: string): WatchPlace {
  const given: unknown = cursor;
  const match = typeof given === "string" ? /^(\d{1,15})\.(\d{1,6})\.([0-9a-f]{8})$/.exec(given) : null;
  if (match === null)
    throw new ConfigurationError(
      `${JSON.stringify(cursor) ?? String(cursor)} is no cursor of a run: give the cursor of an event that watch yielded, or leave \`after\` out to watch from the beginning.`,
    );
  if (match[3] !== markOf(runId))
    throw new ConfigurationError(
      `The cursor ${cursor} belongs to another run than ${runId}: give one of an event of this run, or leave \`after\` out.`,
    );
  return { seq: Number(match[1]), index: Number(match[2]) };
}

/** A cursor behind the last event: the store was restored from a backup, or it is another one. */
export function assertKnown(runId: string, { seq }: WatchPlace, lastSeq: number): void {
  if (seq <= lastSeq) return;
  throw new ConfigurationError(
    `The cursor is behind the end of run ${runId}, which has ${lastSeq} events in this store: was it restored from a backup, or is this another store? Leave \`after\` out to watch from the beginning.`,
  );
}

function markOf(runId: string): string {
  return hash("sha256", runId, "hex").slice(0, 8);
}
