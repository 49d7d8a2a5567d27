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
   * The chunks to request: those whose events are not all held. A request that fails is not repeated while the chunk is in
   * sight, unless the log grows: a server that is away would be asked without end. It is repeated when the chunk comes back into
   * sight. Otherwise a chunk that no longer grows, and whose last request failed, would have blank rows for ever.
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
