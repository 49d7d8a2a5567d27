import type { Evidence } from "../evidence.ts";
import type { Problem } from "../invariant.ts";
import type { Point } from "../point.ts";
import type { Scenario } from "../scenario.ts";

/** A broken promise, with the evidence of the shortest schedule that broke it. */
export type Violation = {
  readonly invariant: string;
  /** The number of schedules that broke it. */
  readonly times: number;
  readonly problems: readonly Problem[];
  readonly evidence: Evidence;
};

/** The figures of a report. */
export type ReportCounts = {
  schedules: number;
  /** Crashes, pauses, and random schedules. */
  disturbances: number;
  /** Schedules whose points were not all reached. */
  missed: number;
  byMode: { [mode: string]: number };
  /** Crashes by kind of point. */
  points: { [point: string]: number };
  /** How many items each invariant checked. */
  looked: { [invariant: string]: number };
  /** The number of schedules in which a person was asked about a call in doubt, by tool. */
  askedAbout: { [tool: string]: number };
};

/** The contents of a report. */
export type ExplorationResult = {
  readonly scenario: Scenario;
  readonly undisturbed: Evidence;
  /** Every point that the undisturbed process reached, in order. */
  readonly points: readonly Point[];
  readonly counts: Readonly<ReportCounts>;
  readonly violations: readonly Violation[];
  /** The tools that ran in no schedule: nothing is known about them. */
  readonly neverRan: readonly string[];
};
