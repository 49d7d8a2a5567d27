import type { Clock } from "../../engine/ports/clock.ts";

type Timer = {
  readonly owner: TimeOwner;
  at: number;
  readonly every: number | null;
  /** Somebody stands still until it goes off. */
  readonly isSleep: boolean;
  readonly callback: () => void;
};

/** Whoever has timers: a process that is stopped has them go off when it goes on, one that is dead never. */
export interface TimeOwner {
  readonly state: "alive" | "paused" | "dead";
}

/**
 * The time of a simulated machine. It stands still while anybody works, and jumps to the next timer when all are asleep:
 * an hour of waiting costs nothing, and comes out the same each time.
 */
export class SimulatedTime {
  #wall: number;
  #monotonic = 0;
  readonly #timers = new Set<Timer>();

  constructor(start = Date.UTC(2026, 0, 1)) {
    this.#wall = start;
  }

  now(): number {
    return this.#wall;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  /** Somebody sets the clock on the wall. */
  jump(ms: number): void {
    this.#wall += ms;
  }

  clockOf(owner: TimeOwner): Clock {
    const set = (ms: number, callback: () => void, every: number | null, isSleep = false) => {
      const timer = { owner, at: this.#monotonic + ms, every, isSleep, callback };
      this.#timers.add(timer);
      return () => void this.#timers.delete(timer);
    };
    return {
      now: () => this.#wall,
      monotonic: () => this.#monotonic,
      every: (ms, callback) => set(ms, callback, ms),
      after: (ms, callback) => set(ms, callback, null),
      sleep: (ms, signal) =>
        new Promise((resolve, reject) => {
          const cancel = set(Math.max(0, ms), resolve, null, true);
          const onAbort = () => {
            cancel();
            reject(signal?.reason instanceof Error ? signal.reason : new Error("aborted"));
          };
          if (signal?.aborted === true) onAbort();
          else signal?.addEventListener("abort", onAbort, { once: true });
        }),
    };
  }

  /** Goes on towards the next timer that somebody waits for, up to the first one. False: nobody waits for any. */
  goOn({ untilTimeouts }: { readonly untilTimeouts: boolean }): boolean {
    const due = this.#living()
      .filter(({ isSleep, every }) => isSleep || (untilTimeouts && every === null))
      .sort((a, b) => a.at - b.at)[0];
    if (due === undefined) return false;
    // No further than the first timer of any kind: a lease that is renewed meanwhile has to be, before time goes on.
    const next = Math.min(...this.#living().map(({ at }) => at));
    this.pass(Math.max(0, Math.min(due.at, next) - this.#monotonic));
    return true;
  }

  /** Lets this long go by, with all that falls due. What a callback sets in motion comes to its turn afterwards. */
  pass(ms: number): void {
    const end = this.#monotonic + ms;
    for (;;) {
      const due = this.#living()
        .filter(({ at }) => at <= end)
        .sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.#moveTo(Math.max(due.at, this.#monotonic));
      if (due.every === null) this.#timers.delete(due);
      // One that was stopped goes off once, however long that was.
      else due.at = Math.max(due.at, this.#monotonic) + due.every;
      due.callback();
    }
    this.#moveTo(end);
  }

  forget(owner: TimeOwner): void {
    for (const timer of this.#timers) if (timer.owner === owner) this.#timers.delete(timer);
  }

  #living(): Timer[] {
    return [...this.#timers].filter(({ owner }) => owner.state === "alive");
  }

  #moveTo(to: number): void {
    this.#wall += to - this.#monotonic;
    this.#monotonic = to;
  }
}
