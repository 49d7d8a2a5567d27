/** A place is not to be had: too many of the same source wait for one already. */
export class QueueFullError extends Error {}

type Waiting = { readonly begin: () => void };

/**
 * Places for work that takes long, shared fairly between those who want it: each source in its turn, and none of them has all
 * places at once. So whoever asks for much waits for itself.
 */
export class FairQueue {
  readonly #places: number;
  readonly #mostWaiting: number;
  /** In the order of their turns. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #taken = new Map<string, number>();

  constructor(places: number, mostWaiting: number) {
    this.#places = places;
    this.#mostWaiting = mostWaiting;
  }

  /** Does the work when it is its turn. Rejects with a `QueueFullError` where too many wait, and as the signal says. */
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
    return taken < this.#places && (own === 0 || own < this.#places - 1);
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
    // A copy: those that had their turn are put at the end of the other.
    for (const [next, queue] of Array.from(this.#waiting)) {
      if (queue.length === 0) this.#waiting.delete(next);
      else if (this.#isFree(next)) {
        // To the end: it is the turn of the others first.
        this.#waiting.delete(next);
        this.#waiting.set(next, queue);
        this.#take(next);
        queue.shift()?.begin();
      }
    }
  }
}
