import { plainText, reportDocument, reportLines, whyUnproven } from "./crash-report-text.ts";
import type { Evidence } from "./evidence.ts";
import type { ExplorationResult, ReportCounts, Violation } from "./exploration-result.ts";
import type { Point } from "./point.ts";
import type { Scenario } from "./scenario.ts";

export type { ReportCounts, Violation } from "./exploration-result.ts";

/** What an exploration came to. Its text is for people; `toJSON` gives the same to programs. */
export class CrashReport implements ExplorationResult {
  readonly scenario: Scenario;
  readonly undisturbed: Evidence;
  readonly counts: Readonly<ReportCounts>;
  readonly violations: readonly Violation[];

  constructor(
    scenario: Scenario,
    undisturbed: Evidence,
    counts: ReportCounts,
    violations: readonly Violation[],
  ) {
    this.scenario = scenario;
    this.undisturbed = undisturbed;
    this.counts = counts;
    this.violations = violations;
  }

  get points(): readonly Point[] {
    return this.undisturbed.lives[0]?.reached ?? [];
  }

  /** Why nothing was put to the test, in a sentence; null where something was. */
  get unproven(): string | null {
    return whyUnproven(this);
  }

  /** Throws, with the whole report, where a promise was broken, or nothing was put to the test. */
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
