import type { Clock } from "../../engine/ports/clock.ts";
import { HttpProblem } from "../http-problem.ts";

const WINDOW_MS = 60_000;

/** Counts wrong tokens and codes, of all clients together: behind a proxy they have one address. */
export class FailedLogins {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #most: number;
  #times: number[] = [];

  constructor(clock: Pick<Clock, "monotonic">, most: number) {
    this.#clock = clock;
    this.#most = most;
  }

  /** Refuses to look up another secret after too many wrong ones. */
  assertFew(): void {
    const since = this.#clock.monotonic() - WINDOW_MS;
    this.#times = this.#times.filter((time) => time > since);
    if (this.#times.length < this.#most) return;
    throw new HttpProblem(
      429,
      "too_many_failed_logins",
      "Too many wrong tokens or codes were tried in the last minute: wait a minute, and try again.",
    );
  }

  add(): void {
    this.#times.push(this.#clock.monotonic());
  }
}
