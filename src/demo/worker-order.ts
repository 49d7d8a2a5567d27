import type { CrashPoint } from "../engine/ports/crash-points.ts";
import type { RunEvent } from "../engine/ports/run-events.ts";
import type { Phase } from "./job-pipeline.ts";
import type { OutsideAddresses } from "./outside.ts";

// The order of the parent and the messages of the worker, as lines of JSON.

export type WorkerOrder = {
  /** Holds the job file and the database, and gets the report. */
  readonly folder: string;
  readonly outside: OutsideAddresses;
  /** Where to halt until it is killed; null: nowhere. */
  readonly stop: StopPoint | null;
};

/** The n-th crash point reached in a phase, or the last one if there are fewer. */
export type StopPoint = { readonly phase: Phase; readonly nth: number };

export type WorkerMessage =
  /** Right before the model is asked. */
  | { readonly kind: "asked"; readonly phase: string; readonly turn: number }
  /** Sent by the code of a step, first of all. */
  | { readonly kind: "entered"; readonly phase: string }
  | { readonly kind: "event"; readonly event: ReportedEvent }
  /** It has halted and waits to be killed. */
  | { readonly kind: "halted"; readonly point: CrashPoint; readonly phase: string; readonly turn: number }
  | { readonly kind: "ended"; readonly status: string; readonly output: string }
  | { readonly kind: "failed"; readonly message: string };

/** All events except the result, which carries the whole history. */
export type ReportedEvent = Exclude<RunEvent, { readonly type: "run.finished" }>;

/** The id of the one run of the demo. */
export const RUN_ID = "clockwork";

/** The file descriptor of the worker's messages to its parent. */
export const MESSAGE_DESCRIPTOR = 3;
