/**
 * Counts the calls of each identity: the n-th call has a key of its own. A worker that executed the step from its beginning
 * counts in memory; one that took it over reads the ledger, once per identity. An effect that is wanted once in a run may
 * have happened in another step, so it is always looked up in the ledger.
 */
export class CallOccurrences {
  readonly #seen = new Map<string, number>();
  readonly #isTaken: (key: Buffer) => Promise<boolean>;
  readonly #knowsAll: boolean;

  /** `isTaken` looks a key up in the ledger; `knowsAll` is true for a worker that has seen the step from its beginning. */
  constructor(isTaken: (key: Buffer) => Promise<boolean>, { knowsAll }: { readonly knowsAll: boolean }) {
    this.#isTaken = isTaken;
    this.#knowsAll = knowsAll;
  }

  /** Takes the number of the next call of this identity, from 1. */
  next(
    identityHash: Buffer,
    scope: "call" | "effect",
    keyOf: (occurrence: number) => Buffer,
  ): number | Promise<number> {
    const identity = `${scope} ${identityHash.toString("hex")}`;
    if (this.#seen.has(identity) || (this.#knowsAll && scope === "call")) return this.#take(identity);
    return this.#nextInLedger(identity, keyOf);
  }

  async #nextInLedger(identity: string, keyOf: (occurrence: number) => Buffer): Promise<number> {
    const free = await firstFree(async (n) => !(await this.#isTaken(keyOf(n))));
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
 * The smallest free n from 1, where all below it are taken. It doubles and then halves, so that the thousandth poll of the
 * same thing costs twenty look-ups. An index over identities would cost a page in every commit, and the first call would
 * be no cheaper.
 */
async function firstFree(isFree: (n: number) => Promise<boolean>): Promise<number> {
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
