import { HttpProblem } from "../http-problem.ts";

/** Lets a costly read of one thing run once at a time: a page that asks again and again does not add to it. */
export class OneAtATime {
  readonly #busy = new Set<string>();
  readonly #detail: (what: string) => string;

  /** `detail` is the sentence for a request that is refused. */
  constructor(detail: (what: string) => string) {
    this.#detail = detail;
  }

  /** Rejects with 429 while the same is under way. */
  async run<T>(what: string, work: () => Promise<T>): Promise<T> {
    if (this.#busy.has(what)) throw new HttpProblem(429, "already_running", this.#detail(what));
    this.#busy.add(what);
    try {
      return await work();
    } finally {
      this.#busy.delete(what);
    }
  }
}
