import type { Evidence } from "./evidence.ts";
import type { Problem } from "./invariant.ts";
import type { Point } from "./point.ts";
import type { Scenario } from "./scenario.ts";

/** A promise that was broken, and the shortest schedule that showed it. */
export type Violation = {
  readonly invariant: string;
  /** In how many schedules. */
  readonly times: number;
  readonly problems: readonly Problem[];
  readonly evidence: Evidence;
};

export type ReportCounts = {
  schedules: number;
  /** Crashes, pauses, and random courses. */
  disturbances: number;
  /** Schedules whose points were not all reached. */
  missed: number;
  byMode: { [mode: string]: number };
  /** How often there was a crash at each kind of point. */
  points: { [point: string]: number };
  /** How many things each invariant was held against. */
  looked: { [invariant: string]: number };
  /** In how many schedules a person was asked what became of a call, by tool. */
  askedAbout: { [tool: string]: number };
};

/** All that a report tells of. */
export type ExplorationResult = {
  readonly scenario: Scenario;
  /** The run that was let alone. */
  readonly undisturbed: Evidence;
  /** Where its process could have died, in order. */
  readonly points: readonly Point[];
  readonly counts: Readonly<ReportCounts>;
  readonly violations: readonly Violation[];
};
