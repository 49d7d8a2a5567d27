import type { Clock } from "../engine/ports/clock.ts";

/** A clock that stands still until it is advanced. Wall and monotonic time can be moved apart. */
export interface FakeClock extends Clock {
  /** Moves both clocks, and fires the timers that fall due on the way, in order. */
  advance(ms: number): Promise<void>;
  /** Moves the wall clock alone, as an administrator or a time server would. */
  setWall(ms: number): void;
}

type FakeTimer = { at: number; readonly every: number | null; readonly callback: () => void };

/** The returned function cancels the timer. */
type AddTimer = (ms: number, every: number | null, callback: () => void) => () => void;

/**
 * A clock whose time a test moves.
 *
 * @example
 * const clock = fakeClock();
 * const slept = clock.sleep(1_000);
 * await clock.advance(1_000);
 * await slept;
 */
export function fakeClock(start = Date.UTC(2026, 0, 1)): FakeClock {
  let wall = start;
  let monotonic = 0;
  const timers = new Set<FakeTimer>();
  const addTimer: AddTimer = (ms, every, callback) => {
    const timer: FakeTimer = { at: monotonic + ms, every, callback };
    timers.add(timer);
    return () => void timers.delete(timer);
  };
  const move = (to: number) => {
    wall += to - monotonic;
    monotonic = to;
  };
  return {
    now: () => wall,
    monotonic: () => monotonic,
    every: (ms, callback) => addTimer(ms, ms, callback),
    after: (ms, callback) => addTimer(ms, null, callback),
    sleep: (ms, signal) => sleepOn(addTimer, ms, signal),
    setWall: (ms) => {
      wall = ms;
    },
    advance: async (ms) => {
      const end = monotonic + ms;
      for (;;) {
        const due = [...timers].filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];
        if (due === undefined) break;
        move(due.at);
        if (due.every === null) timers.delete(due);
        else due.at += due.every;
        due.callback();
        // Work started by the callback runs before time advances further.
        await new Promise((resolve) => setImmediate(resolve));
      }
      move(end);
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

/** Resolves when the timer fires, or rejects when the signal aborts. */
function sleepOn(addTimer: AddTimer, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = addTimer(ms, null, resolve);
    const onAbort = () => {
      cancel();
      reject(signal?.reason instanceof Error ? signal.reason : new Error("aborted"));
    };
    if (signal?.aborted === true) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
  });
}
