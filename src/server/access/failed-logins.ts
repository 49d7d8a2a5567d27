import type { Clock } from "../../engine/ports/clock.ts";
import { HttpProblem } from "../http-problem.ts";

const WINDOW_MS = 60_000;

/**
 * Counts wrong tokens and codes, of all clients together: behind a proxy they have one address. Nobody guesses one of 256 random
 * bits, so a right one is always accepted, however many wrong ones strangers send. The limit is for what a wrong one costs: a
 * failed sign-in is an entry of the audit log.
 */
export class FailedLogins {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #most: number;
  #times: number[] = [];

  constructor(clock: Pick<Clock, "monotonic">, most: number) {
    this.#clock = clock;
    this.#most = most;
  }

  /** Counts a wrong one. After too many in a minute it throws, and further ones are not counted. */
  add(): void {
    const now = this.#clock.monotonic();
    this.#times = this.#times.filter((time) => time > now - WINDOW_MS);
    if (this.#times.length >= this.#most)
      throw new HttpProblem(
        429,
        "too_many_failed_logins",
        "The token or code is wrong, as too many others of the last minute: wait a minute before you try another one.",
      );
    this.#times.push(now);
  }
}
