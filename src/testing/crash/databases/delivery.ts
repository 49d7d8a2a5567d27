/**
 * The order in which the answers of a server reach the processes of a world: that in which they were asked for, one in
 * each turn of the event loop. By the real order, the same schedule would take other courses. And one transaction writes
 * at a time: otherwise an answer could wait for a lock that is freed only after a later answer.
 */
export class Delivery {
  #last: Promise<unknown> = Promise.resolve();
  #writer: object | null = null;
  readonly #waiting: { readonly writer: object; readonly begin: () => void }[] = [];

  /** Asks, and resolves when it is the turn of the answer. */
  async inOrder<T>(ask: () => Promise<T>): Promise<T> {
    const before = this.#last;
    const asked = ask();
    const arrived = Promise.allSettled([asked, before]).then(
      () => new Promise<void>((resolve) => setImmediate(resolve)),
    );
    this.#last = arrived;
    await arrived;
    return asked;
  }

  /** Resolves once no other writer has a transaction. */
  async begin(writer: object): Promise<void> {
    if (this.#writer === null || this.#writer === writer) this.#writer = writer;
    else await new Promise<void>((begin) => this.#waiting.push({ writer, begin }));
  }

  /** The transaction of a writer is over, if it had one. */
  end(writer: object): void {
    if (this.#writer !== writer) return;
    const next = this.#waiting.shift();
    this.#writer = next?.writer ?? null;
    next?.begin();
  }
}
