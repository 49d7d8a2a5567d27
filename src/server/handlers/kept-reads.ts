import type { Clock } from "../../engine/ports/clock.ts";

/** What takes less is read each time. */
const LEAST_MS = 10;
/** An answer is kept for this many times as long as it took, so that pages that ask again and again cost one percent of a core. */
const TIMES = 100;
const MOST_MS = 60_000;
const MOST_KEPT = 100;

type KeptRead = { readonly value: Promise<unknown>; until: number };

/**
 * Figures about many runs, which are costly in a large store: each is read once at a time, and kept for a while. Counts of 100,000
 * runs take 10 ms and are kept for a second; sums of their money take more than half a second, and are kept for a minute.
 */
export class KeptReads {
  readonly #clock: Pick<Clock, "monotonic">;
  /** In the order in which they were begun. */
  readonly #kept = new Map<string, KeptRead>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** `what` names everything that the answer depends on: also who may see it. */
  read<T>(what: string, work: () => Promise<T>): Promise<T> {
    const known = this.#kept.get(what);
    if (known !== undefined && this.#clock.monotonic() < known.until) return known.value as Promise<T>;
    const kept: KeptRead = { value: this.#timed(work, what), until: Number.POSITIVE_INFINITY };
    this.#kept.delete(what);
    this.#kept.set(what, kept);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
    return kept.value as Promise<T>;
  }

  /** A read that fails is not kept, nor one that is quick. */
  async #timed<T>(work: () => Promise<T>, what: string): Promise<T> {
    const begun = this.#clock.monotonic();
    let keptMs = 0;
    try {
      const value = await work();
      const took = this.#clock.monotonic() - begun;
      if (took >= LEAST_MS) keptMs = Math.min(MOST_MS, TIMES * took);
      return value;
    } finally {
      const kept = this.#kept.get(what);
      if (kept !== undefined) kept.until = this.#clock.monotonic() + keptMs;
    }
  }
}
