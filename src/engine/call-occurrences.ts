/**
 * Counts the calls of each identity in one step: the n-th one has a key of its own. A worker that has seen the step from
 * its beginning knows by itself; one that took it over asks the ledger, once for each identity it meets.
 */
export class CallOccurrences {
  readonly #seen = new Map<string, number>();
  readonly #isTaken: ((key: Buffer) => Promise<boolean>) | null;

  /** `isTaken` says whether the ledger has a key; null for a step that was seen from its beginning. */
  constructor(isTaken: ((key: Buffer) => Promise<boolean>) | null) {
    this.#isTaken = isTaken;
  }

  /** The number of the next call of this identity, from 1. It is taken by asking. */
  next(identityHash: Buffer, keyOf: (occurrence: number) => Buffer): number | Promise<number> {
    const identity = identityHash.toString("hex");
    if (this.#isTaken === null || this.#seen.has(identity)) return this.#take(identity);
    return this.#ask(identity, this.#isTaken, keyOf);
  }

  async #ask(
    identity: string,
    isTaken: (key: Buffer) => Promise<boolean>,
    keyOf: (occurrence: number) => Buffer,
  ): Promise<number> {
    const free = await firstFree(async (n) => !(await isTaken(keyOf(n))));
    if (!this.#seen.has(identity)) this.#seen.set(identity, free - 1);
    return this.#take(identity);
  }

  #take(identity: string): number {
    const occurrence = (this.#seen.get(identity) ?? 0) + 1;
    this.#seen.set(identity, occurrence);
    return occurrence;
  }
}

/**
 * The smallest n from 1 that is free, where all below it are taken: by doubling and then halving, so that the
 * thousandth poll of the same thing costs twenty look-ups. The alternative, an index over identities, costs a page in
 * every commit to make the first call as cheap as it is already.
 */
export async function firstFree(isFree: (n: number) => Promise<boolean>): Promise<number> {
  let high = 1;
  while (!(await isFree(high))) high *= 2;
  let low = Math.floor(high / 2);
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (await isFree(middle)) high = middle;
    else low = middle;
  }
  return high;
}
