import type { CrashPoint } from "../engine/ports/crash-points.ts";
import type { RunEvent } from "../engine/ports/run-events.ts";
import type { Phase } from "./job-pipeline.ts";
import type { OutsideAddresses } from "./outside.ts";

// What the parent orders and what the worker tells, as lines of JSON.

export type WorkerOrder = {
  /** Holds the job file and the database, and gets the report. */
  readonly folder: string;
  readonly outside: OutsideAddresses;
  /** Where to stand still until it is killed; null: nowhere. */
  readonly stop: StopPlace | null;
};

/** The n-th crash point that is reached in a phase, or the last one where there are fewer. */
export type StopPlace = { readonly phase: Phase; readonly nth: number };

export type WorkerMessage =
  /** Right before the model is asked. */
  | { readonly kind: "asked"; readonly phase: string; readonly turn: number }
  /** By the code of a step itself, as the first thing that it does. */
  | { readonly kind: "entered"; readonly phase: string }
  | { readonly kind: "event"; readonly event: ToldEvent }
  /** It goes no further by itself. */
  | { readonly kind: "stands"; readonly point: CrashPoint; readonly phase: string; readonly turn: number }
  | { readonly kind: "ended"; readonly status: string; readonly output: string }
  | { readonly kind: "failed"; readonly message: string };

/** All but the result, which carries the whole history. */
export type ToldEvent = Exclude<RunEvent, { readonly type: "run.finished" }>;

/** The id of the one run of the demo. */
export const RUN_ID = "clockwork";

/** The file descriptor that the worker tells its parent through. */
export const TELLING_DESCRIPTOR = 3;
