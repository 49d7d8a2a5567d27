import type { StepPath } from "../core/step-path.ts";
import type { Amount } from "../core/usage/usage.ts";
import type { RunMetadata } from "./queue-records.ts";
import type { RunStatus } from "./run-move.ts";

/** Where a list of runs continues: behind this run. Any record or summary of a run is one. */
export type RunCursor = { readonly createdAt: number; readonly runId: string };

/** Which runs `listRuns` and `listRunSummaries` return, newest first. */
export type RunFilter = {
  readonly status?: RunStatus;
  readonly pipeline?: string;
  readonly queue?: string;
  /** Every one of these must be in the metadata of the run. */
  readonly metadata?: { readonly [name: string]: string };
  /** Only those behind this one. Runs that are created meanwhile are before it, so that pages are stable. */
  readonly after?: RunCursor;
  /** At most this many; 1,000 by default, and no more than that. */
  readonly limit?: number;
};

/** A run in a list: what is small of it. */
export type RunSummary = RunCursor & {
  readonly pipeline: string;
  readonly status: RunStatus;
  readonly queue: string;
  readonly updatedAt: number;
  readonly currentStep: StepPath | null;
  readonly metadata: RunMetadata | null;
  /** The objective of its contract; null if it has none. */
  readonly objective: string | null;
  /** When a queued run became ready, or will. */
  readonly readyAt: number | null;
  /** When the clock has something to do about it; null if never. */
  readonly wakeAt: number | null;
  readonly stalls: number;
  readonly owner: string | null;
  readonly leaseUntil: number;
  readonly charged: Amount;
  /** The code of the error of a run that failed. */
  readonly errorCode: string | null;
};
