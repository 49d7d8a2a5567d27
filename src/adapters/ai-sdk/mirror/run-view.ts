import type { LiveEvent } from "../../../engine/ports/live-events.ts";
import { cursorBehind } from "../../../engine/watch/watch-cursor.ts";
import type { WatchEvent, WatchOptions } from "../../../engine/watch/watch-event.ts";
import type { StoreReader } from "../../../store/store.ts";

/** Watches a run, as `Runner.watch` does. */
export type Watch = (runId: string, options: WatchOptions) => AsyncIterable<WatchEvent>;

/**
 * A reader of one run that waits until the store has what it looks for. The store is the truth; events only say when to
 * look again, so a reader that joins late, or again, sees the same.
 */
export class RunView {
  readonly runId: string;
  readonly #store: StoreReader;
  readonly #watch: Watch;
  readonly #wantsLive: boolean;
  readonly #left = new AbortController();
  #watching: { readonly begun: Promise<void>; readonly over: AbortController } | null = null;
  /** How many look for something now. */
  #lookers = 0;
  #live: LiveEvent[] = [];
  #changes = 0;
  #wake = Promise.withResolvers<void>();
  #failure: { readonly error: unknown } | null = null;
  #isOver = false;

  constructor(
    runId: string,
    means: { readonly store: StoreReader; readonly watch: Watch; readonly wantsLive: boolean },
  ) {
    this.runId = runId;
    this.#store = means.store;
    this.#watch = means.watch;
    this.#wantsLive = means.wantsLive;
  }

  /** Resolves to what `look` finds, now or later. Rejects once it cannot come any more. */
  async until<T>(look: () => Promise<T | null>): Promise<T> {
    this.#lookers += 1;
    try {
      await this.watching();
      return await this.#found(look);
    } finally {
      this.#lookers -= 1;
      // Between two looks nothing has to be watched, unless pieces of answers would be missed.
      if (this.#lookers === 0 && !this.#wantsLive) this.rest();
    }
  }

  async #found<T>(look: () => Promise<T | null>): Promise<T> {
    for (;;) {
      const seen = this.#changes;
      const isLast = this.#isOver;
      this.#left.signal.throwIfAborted();
      const found = await look();
      if (found !== null) return found;
      this.#left.signal.throwIfAborted();
      if (this.#failure !== null) throw this.#failure.error;
      if (isLast)
        throw new Error(`Run ${this.runId} has ended, and the store does not have what belongs to its end.`);
      if (seen === this.#changes) await this.#wake.promise;
    }
  }

  /** Resolves when every later change will be seen. */
  watching(): Promise<void> {
    if (this.#watching === null) {
      const over = new AbortController();
      this.#isOver = false;
      this.#watching = { begun: this.#begin(over.signal), over };
    }
    return this.#watching.begun;
  }

  /** The pieces of answers that came since the last call. */
  takeLive(): readonly LiveEvent[] {
    const live = this.#live;
    this.#live = [];
    return live;
  }

  /** Pieces that came another way than by watching. */
  addLive(event: LiveEvent): void {
    this.#live.push(event);
    this.#news();
  }

  /** The work on the run has failed in this process: whatever is not stored by now will not come. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#news();
  }

  /** Aborts once this reader has left. */
  get left(): AbortSignal {
    return this.#left.signal;
  }

  /** Ends the watching, and nothing else. */
  leave(reason?: unknown): void {
    this.#left.abort(reason);
    this.rest();
    this.#news();
  }

  /** Stops watching until something is looked for again. */
  rest(): void {
    this.#watching?.over.abort();
    this.#watching = null;
  }

  async #begin(signal: AbortSignal): Promise<void> {
    const { runId } = this;
    const seq = (await this.#store.readProgress([runId])).get(runId) ?? 0;
    const after = cursorBehind(runId, seq);
    void this.#pump(this.#watch(runId, { after, live: this.#wantsLive, signal }), signal);
  }

  async #pump(events: AsyncIterable<WatchEvent>, signal: AbortSignal): Promise<void> {
    try {
      for await (const event of events)
        if (event.type === "part" || event.type === "attempt.withdrawn") this.addLive(event);
        else this.#news();
      if (!signal.aborted) this.#isOver = true;
    } catch (error) {
      if (!signal.aborted) this.#failure ??= { error };
    }
    this.#news();
  }

  #news(): void {
    this.#changes += 1;
    const { resolve } = this.#wake;
    this.#wake = Promise.withResolvers<void>();
    resolve();
  }
}
