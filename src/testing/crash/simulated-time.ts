import type { Clock } from "../../engine/ports/clock.ts";
import type { LiveTimers } from "../../store/live/live-buffer.ts";

type SimulatedTimer = {
  readonly owner: TimerOwner;
  at: number;
  readonly every: number | null;
  /** A caller is blocked until it fires; the other timers are timeouts and intervals. */
  readonly isSleep: boolean;
  /** Time does not stop at it: how time passes must not depend on it. */
  readonly isBackground: boolean;
  readonly callback: () => void;
};

/** A process that has timers. While it is paused they do not fire until it wakes; once it is dead, never. */
export interface TimerOwner {
  readonly state: "alive" | "paused" | "dead";
}

/**
 * The time of a simulated machine. It stands still while any process works, and jumps to the next timer when all are
 * asleep: an hour of waiting costs nothing, and has the same result each time.
 */
export class SimulatedTime {
  #wall: number;
  #monotonic = 0;
  readonly #timers = new Set<SimulatedTimer>();

  constructor(start = Date.UTC(2026, 0, 1)) {
    this.#wall = start;
  }

  now(): number {
    return this.#wall;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  /** Moves the wall clock alone, as an administrator would. */
  shiftWallClock(ms: number): void {
    this.#wall += ms;
  }

  /** The timers of what must change nothing. */
  liveTimersOf(owner: TimerOwner): LiveTimers {
    const after = (ms: number, callback: () => void) =>
      this.#set({
        owner,
        at: this.#monotonic + ms,
        every: null,
        isSleep: false,
        isBackground: true,
        callback,
      });
    return { monotonic: () => this.#monotonic, soon: (callback) => after(0, callback), after };
  }

  clockOf(owner: TimerOwner): Clock {
    const set = (ms: number, callback: () => void, every: number | null, isSleep = false) =>
      this.#set({ owner, at: this.#monotonic + ms, every, isSleep, isBackground: false, callback });
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

  /** Advances towards the next sleep, or timeout, that a process waits for. False if there is none. */
  advanceToNextTimer({ includeTimeouts }: { readonly includeTimeouts: boolean }): boolean {
    const due = this.#activeTimers()
      .filter(
        ({ isSleep, isBackground, every }) => isSleep || (includeTimeouts && every === null && !isBackground),
      )
      .sort((a, b) => a.at - b.at)[0];
    if (due === undefined) return false;
    // No further than the first timer of any kind: a lease renewal that is due must happen before time advances more.
    const foreground = this.#activeTimers().filter(({ isBackground }) => !isBackground);
    const next = Math.min(...foreground.map(({ at }) => at));
    this.advance(Math.max(0, Math.min(due.at, next) - this.#monotonic));
    return true;
  }

  /** Advances both clocks and fires the timers that fall due. Work started by a callback runs afterwards. */
  advance(ms: number): void {
    const end = this.#monotonic + ms;
    for (;;) {
      const due = this.#activeTimers()
        .filter(({ at }) => at <= end)
        .sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.#moveTo(Math.max(due.at, this.#monotonic));
      if (due.every === null) this.#timers.delete(due);
      // An interval of a paused process fires once, however long the pause was.
      else due.at = Math.max(due.at, this.#monotonic) + due.every;
      due.callback();
    }
    this.#moveTo(end);
  }

  #set(timer: SimulatedTimer): () => void {
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  cancelTimers(owner: TimerOwner): void {
    for (const timer of this.#timers) if (timer.owner === owner) this.#timers.delete(timer);
  }

  #activeTimers(): SimulatedTimer[] {
    return [...this.#timers].filter(({ owner }) => owner.state === "alive");
  }

  #moveTo(to: number): void {
    this.#wall += to - this.#monotonic;
    this.#monotonic = to;
  }
}

/** True while code waits for its own file access or yields to the event loop: it continues, however many turns that takes. */
export function hasPendingNodeWork(): boolean {
  return process.getActiveResourcesInfo().some((resource) => PENDING_NODE_WORK.has(resource));
}

/** Node's names of such resources. */
const PENDING_NODE_WORK: ReadonlySet<string> = new Set([
  "FSReqPromise",
  "FSReqCallback",
  "CloseReq",
  "Immediate",
]);
