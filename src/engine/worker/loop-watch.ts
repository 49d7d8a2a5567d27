import type { Clock } from "../ports/clock.ts";

const EVERY_MS = 1_000;

/** Longer than anything that should keep the event loop from timers. */
const BLOCKED_MS = 2_000;

/** Notices that the event loop was blocked, or that the process was stopped: it could not renew its leases meanwhile. */
export class LoopWatch {
  readonly stop: () => void;
  #last: number;

  constructor(clock: Clock, onBlocked: (forMs: number) => void) {
    this.#last = clock.monotonic();
    this.stop = clock.every(EVERY_MS, () => {
      const now = clock.monotonic();
      const late = now - this.#last - EVERY_MS;
      this.#last = now;
      if (late >= BLOCKED_MS) onBlocked(Math.round(late));
    });
  }
}
