import { isBehind, type LogChunk } from "./log-chunks.ts";

/** A chunk in sight, and what is held of it. */
export type SeenChunk = {
  readonly chunk: LogChunk;
  readonly held: readonly { readonly seq: number }[];
  readonly isFetching: boolean;
};

/** How far each chunk in sight was asked for. */
export class AskedChunks {
  readonly #upTo = new Map<number, number>();

  /**
   * The chunks to ask for now: those whose events are not all held. What fails is not asked for again while it is in sight,
   * unless the log grows: a server that is away would be asked without end. It is when it comes back into sight, also if it has
   * all of its events by then: a chunk that failed on its last request would have blank rows for ever.
   */
  due(seen: readonly SeenChunk[]): readonly LogChunk[] {
    const inSight = new Set(seen.map(({ chunk }) => chunk.after));
    for (const after of this.#upTo.keys()) if (!inSight.has(after)) this.#upTo.delete(after);
    const due = seen
      .filter(({ chunk, held, isFetching }) => !isFetching && isBehind(chunk, held))
      .map(({ chunk }) => chunk)
      .filter(({ after, upTo }) => this.#upTo.get(after) !== upTo);
    for (const { after, upTo } of due) this.#upTo.set(after, upTo);
    return due;
  }
}
