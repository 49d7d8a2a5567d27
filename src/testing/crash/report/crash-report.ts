import type { Evidence } from "../evidence.ts";
import type { Point } from "../point.ts";
import type { Scenario } from "../scenario.ts";
import { plainText, reportDocument, reportLines, whyUnproven } from "./crash-report-text.ts";
import type { ExplorationResult, ReportCounts, Violation } from "./exploration-result.ts";

export type { ReportCounts, Violation } from "./exploration-result.ts";

/** The result of an exploration. Its text is for people; `toJSON` returns the same for programs. */
export class CrashReport implements ExplorationResult {
  readonly scenario: Scenario;
  readonly undisturbed: Evidence;
  readonly counts: Readonly<ReportCounts>;
  readonly violations: readonly Violation[];
  readonly neverRan: readonly string[];

  constructor(
    scenario: Scenario,
    undisturbed: Evidence,
    counts: ReportCounts,
    violations: readonly Violation[],
    neverRan: readonly string[],
  ) {
    this.scenario = scenario;
    this.undisturbed = undisturbed;
    this.counts = counts;
    this.violations = violations;
    this.neverRan = neverRan;
  }

  get points(): readonly Point[] {
    return this.undisturbed.lives[0]?.reached ?? [];
  }

  /** The reason why nothing was tested, in a sentence; null if something was. */
  get unproven(): string | null {
    return whyUnproven(this);
  }

  /** Throws an error with the whole report if a promise was broken or nothing was tested. */
  assertKept(): void {
    if (this.violations.length > 0 || this.unproven !== null) throw new Error(this.toString());
  }

  toString(): string {
    return plainText(reportLines(this));
  }

  toJSON(): ReturnType<typeof reportDocument> {
    return reportDocument(this);
  }
}
