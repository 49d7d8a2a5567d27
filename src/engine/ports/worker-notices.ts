import type { FiringRecord } from "../../store/store.ts";

/** Something about a worker itself. Its runs emit their own events, to `onEvent`. */
export type WorkerNotice =
  /**
   * It has claimed a run: how long the run had been ready; null for one that another worker had left. `silentMs` is how
   * long that one had not been heard of; null for a run that was ready.
   */
  | {
      readonly type: "claimed";
      readonly runId: string;
      readonly pipeline: string;
      readonly queue: string;
      readonly afterMs: number | null;
      readonly silentMs: number | null;
    }
  /** It has left a run: its status; null if that is unknown, because the store could not be read. */
  | {
      readonly type: "left";
      readonly runId: string;
      readonly pipeline: string;
      readonly queue: string;
      readonly status: string | null;
      readonly error: unknown;
    }
  /** Runs of these pipelines wait in its queues, and it has none of them: it leaves them alone. */
  | { readonly type: "unknown_pipelines"; readonly pipelines: readonly string[] }
  /** A run waits for a person, since too many workers died in it without a commit. */
  | { readonly type: "stalled"; readonly runId: string }
  /** This worker cannot execute the run, and leaves it alone. */
  | { readonly type: "unfit"; readonly runId: string; readonly error: unknown }
  /** Its configuration has changed a stored schedule. */
  | {
      readonly type: "schedule_changed";
      readonly schedule: string;
      readonly change: "added" | "edited" | "removed";
    }
  /** Its configuration has a schedule otherwise than the store, and is not the newer one. */
  | { readonly type: "schedule_ignored"; readonly schedule: string; readonly why: string }
  /** It has decided about a planned time. */
  | { readonly type: "fired"; readonly firing: FiringRecord }
  /** A schedule could not be fired, or, if it is null, the schedules could not be stored: it tries again. */
  | { readonly type: "schedule_failed"; readonly schedule: string | null; readonly error: unknown }
  /** It has deleted runs that ended longer ago than they are kept. */
  | { readonly type: "deleted"; readonly runs: number }
  /** It is woken by signals and its own sweeps only, without jobs of graphile-worker: why. Nothing is lost by that. */
  | { readonly type: "signals_only"; readonly reason: string }
  /** Its event loop was blocked: leases could not be renewed meanwhile. */
  | { readonly type: "blocked"; readonly forMs: number }
  /** The store could not be read or written; it tries again. */
  | { readonly type: "store_failed"; readonly error: unknown }
  /** It was asked to stop: it finishes what is in progress, and gives its runs back. */
  | { readonly type: "handing_back"; readonly runs: number };
