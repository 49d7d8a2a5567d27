import type { RunSpec } from "../core/job/run-spec.ts";
import type { Json } from "../core/json.ts";
import type { CheckedSchedule } from "../core/schedule/schedule-spec.ts";

// Schedules, and what became of their planned times.

/** The schedules of one version of a configuration. */
export type ScheduleConfiguration = {
  /**
   * A number that grows with each version of the configuration. It belongs to the version and not to the process: only a
   * higher one changes what is stored.
   */
  readonly revision: number;
  /** All schedules of the store: one that is stored and not among them is removed. */
  readonly schedules: readonly ConfiguredStart[];
};

/** A schedule, and what its runs need beside it: a firing has only the store. */
export type ConfiguredStart = {
  readonly schedule: CheckedSchedule;
  /** The entrypoint of its runs. */
  readonly entrypoint: string;
  /** The shape of the pipeline. The worker that takes a run pins its own if that is another one. */
  readonly shape: Json;
  /** The contract of its runs: the default budgets of the configuration. None by default. */
  readonly spec?: RunSpec | null;
};

/** What a configuration has changed, or why it did not. */
export type ScheduleReport =
  | { readonly name: string; readonly kind: "added" | "edited" | "removed" }
  | { readonly name: string; readonly kind: "ignored"; readonly why: string };

/**
 * What became of a planned time. `started`: a run was created, or was there already. `skipped`: the overlap policy forbade
 * one. `missed`: no worker looked in time, or the schedule was paused or changed.
 */
export type FiringOutcome = "started" | "skipped" | "missed";

/** A planned time that was decided about. */
export type FiringRecord = {
  readonly name: string;
  /** In milliseconds since 1970; the first one, if it stands for several. */
  readonly plannedAt: number;
  readonly decidedAt: number;
  readonly outcome: FiringOutcome;
  /** The run that was started; null if none was. */
  readonly runId: string | null;
  /** How many planned times it stands for. */
  readonly times: number;
  /** Why no run was started, or what else is to be known about it. */
  readonly why: string | null;
};

/** A schedule, as it is stored. */
export type ScheduleRecord = {
  readonly name: string;
  readonly schedule: CheckedSchedule;
  /** The newest configuration does not have it. */
  readonly isRemoved: boolean;
  readonly revision: number;
  readonly configuredAt: number;
  /** The next planned time; null if it was removed. */
  readonly nextAt: number | null;
  readonly pausedAt: number | null;
  readonly pausedBy: string | null;
  /** The newest firing; null if it has not fired. */
  readonly lastFiring: FiringRecord | null;
};

/** A schedule, and how long its next planned time is ahead; 0 if it is due. */
export type DueSchedule = { readonly name: string; readonly inMs: number };

/** What a look at a schedule has decided. */
export type FiredSchedule = {
  /** In the order of their planned times; none if nothing was due. */
  readonly firings: readonly FiringRecord[];
  /** When to look again; null if it is paused, was removed, or does not exist. */
  readonly nextAt: number | null;
};
