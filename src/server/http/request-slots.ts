import { HttpProblem } from "../http-problem.ts";

/** Limits how many requests are answered at a time, so that a flood of them does not fill the memory. */
export class RequestSlots {
  readonly #most: number;
  #taken = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Does the work in a slot of its own. An open stream has left its slot: streams have a limit of their own. */
  async use<T>(work: () => Promise<T>): Promise<T> {
    if (this.#taken >= this.#most)
      throw new HttpProblem(
        503,
        "too_busy",
        `${this.#most} requests are being answered: try again in a second.`,
      );
    this.#taken += 1;
    try {
      return await work();
    } finally {
      this.#taken -= 1;
    }
  }
}
