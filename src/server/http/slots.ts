import { once } from "../../core/once.ts";
import type { HttpProblem } from "../http-problem.ts";

/** Limits how many of a kind are under way at a time, so that a flood of them does not fill the memory. */
export class Slots {
  readonly #most: number;
  readonly #full: (most: number) => HttpProblem;
  #taken = 0;

  /** `full` is the answer to a request that finds no slot. */
  constructor(most: number, full: (most: number) => HttpProblem) {
    this.#most = most;
    this.#full = full;
  }

  get taken(): number {
    return this.#taken;
  }

  /** Takes a slot. Returns the function that frees it; more calls of it do nothing. The signal frees it too. */
  take(signal?: AbortSignal): () => void {
    if (this.#taken >= this.#most) throw this.#full(this.#most);
    this.#taken += 1;
    const free = once(() => {
      this.#taken -= 1;
      signal?.removeEventListener("abort", free);
    });
    signal?.addEventListener("abort", free);
    if (signal?.aborted === true) free();
    return free;
  }
}
