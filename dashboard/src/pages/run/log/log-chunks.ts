/** The events of a log are numbered without a gap, so that any part of it is found without what is before it. */
export const CHUNK = 200;

/** A part of the log: the events after `after`, up to and with `upTo`. */
export type LogChunk = { readonly after: number; readonly upTo: number };

/** The chunks that hold the events from `first` to `last`. The last one of a log grows with it. */
export function chunksOf(first: number, last: number, lastSeq: number): readonly LogChunk[] {
  const chunks: LogChunk[] = [];
  for (
    let after = Math.floor(Math.max(0, first - 1) / CHUNK) * CHUNK;
    after < Math.min(last, lastSeq);
    after += CHUNK
  )
    chunks.push({ after, upTo: Math.min(after + CHUNK, lastSeq) });
  return chunks;
}

/** True if the log has events of a chunk that come after those that are held of it. */
export function isBehind({ after, upTo }: LogChunk, held: readonly { readonly seq: number }[]): boolean {
  return (held.at(-1)?.seq ?? after) < upTo;
}

/** What a link to an event says of the log. */
export type LinkCheck =
  | { readonly kind: "none" }
  | { readonly kind: "same"; readonly seq: number }
  | { readonly kind: "other"; readonly seq: number }
  /** The log ends before the event. */
  | { readonly kind: "missing"; readonly seq: number };

/** Each hash covers all events before it: the same one means the same log up to there. */
export function checkLink(
  link: { readonly seq: number | null; readonly hash: string | null },
  lastSeq: number,
  hashNow: string | undefined,
): LinkCheck {
  const { seq, hash } = link;
  if (seq === null) return { kind: "none" };
  if (seq > lastSeq) return { kind: "missing", seq };
  if (hash === null || hash === "" || hashNow === undefined) return { kind: "none" };
  return { kind: hashNow.startsWith(hash) ? "same" : "other", seq };
}

/** The number of an event in an address: `318`, or `#318` as people write it. */
export function seqIn(text: string | null): number | null {
  const seq = Number((text ?? "").replace(/^#/, ""));
  return Number.isInteger(seq) && seq > 0 ? seq : null;
}
