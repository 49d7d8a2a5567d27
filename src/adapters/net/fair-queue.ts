/** Too much work of the same source is waiting already. */
export class QueueFullError extends Error {}

type Waiting = { readonly begin: () => void };

/**
 * A limited number of slots for slow work, shared fairly: sources take turns, and none of them gets all slots at once. A
 * source that asks for much delays only itself.
 */
export class FairQueue {
  readonly #slots: number;
  readonly #mostWaiting: number;
  /** By source, in the order of their turns. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #taken = new Map<string, number>();

  constructor(slots: number, mostWaiting: number) {
    this.#slots = slots;
    this.#mostWaiting = mostWaiting;
  }

  /** Runs the work when it is its turn. Rejects with a `QueueFullError` if too much is waiting, or with the signal's reason. */
  async run<T>(source: string, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    if (this.#isFree(source)) this.#take(source);
    else await this.#turn(source, signal);
    try {
      return await work();
    } finally {
      this.#leave(source);
    }
  }

  #isFree(source: string): boolean {
    let taken = 0;
    for (const count of this.#taken.values()) taken += count;
    const own = this.#taken.get(source) ?? 0;
    return taken < this.#slots && (own === 0 || own < this.#slots - 1);
  }

  #take(source: string): void {
    this.#taken.set(source, (this.#taken.get(source) ?? 0) + 1);
  }

  #turn(source: string, signal: AbortSignal | undefined): Promise<void> {
    const queue = this.#waiting.get(source) ?? [];
    if (queue.length >= this.#mostWaiting) return Promise.reject(new QueueFullError());
    this.#waiting.set(source, queue);
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        queue.splice(queue.indexOf(waiting), 1);
        reject(signal?.reason as Error);
      };
      const waiting: Waiting = {
        begin: () => {
          signal?.removeEventListener("abort", onAbort);
          resolve();
        },
      };
      queue.push(waiting);
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  #leave(source: string): void {
    const left = (this.#taken.get(source) ?? 1) - 1;
    if (left === 0) this.#taken.delete(source);
    else this.#taken.set(source, left);
    // Iterates over a copy: a source that had its turn moves to the end of the map.
    for (const [next, queue] of Array.from(this.#waiting)) {
      if (queue.length === 0) this.#waiting.delete(next);
      else if (this.#isFree(next)) {
        // To the end of the map: the other sources go first.
        this.#waiting.delete(next);
        this.#waiting.set(next, queue);
        this.#take(next);
        queue.shift()?.begin();
      }
    }
  }
}
