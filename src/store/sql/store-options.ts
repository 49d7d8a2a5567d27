import type { LiveTimers } from "../live/live-buffer.ts";
import { WorkInProgress } from "../work-in-progress.ts";
import { Leases } from "./leases.ts";
import type { OwnerWatch, SentNotes } from "./owners.ts";

/** What every store can be told. */
export type SqlStoreOptions = {
  /** Milliseconds since 1970; for tests. By default the time of the system, on PostgreSQL that of the server. */
  readonly now?: () => number;
  /** A monotonic clock in milliseconds, used to watch the leases of others; for tests. By default that of the system. */
  readonly monotonic?: () => number;
  /** Calls back after so many milliseconds; the returned function cancels that. For tests; by default a timer of Node. */
  readonly after?: (ms: number, callback: () => void) => () => void;
  /** Replaces the timers of live parts, for simulated machines in tests. */
  readonly liveTimers?: LiveTimers;
  /** Called after every commit, for measurements. */
  readonly onCommit?: (intents: readonly string[]) => void;
};

/** The parts that a database brings to a store beside its driver, and the clocks that tests replace. */
export type StoreParts = {
  readonly owners: OwnerWatch;
  readonly work: WorkInProgress;
  readonly leases: Leases;
  readonly after: (ms: number, callback: () => void) => () => void;
};

export function storeParts(owners: OwnerWatch, notes: SentNotes, options: SqlStoreOptions): StoreParts {
  const work = new WorkInProgress();
  const monotonic = options.monotonic ?? (() => performance.now());
  return {
    owners,
    work,
    leases: new Leases(owners, work, notes, monotonic),
    after: options.after ?? afterMs,
  };
}

/** A timer of Node. */
export function afterMs(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms);
  return () => clearTimeout(timer);
}
