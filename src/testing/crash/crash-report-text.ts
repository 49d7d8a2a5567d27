import { counted } from "../../export/figures.ts";
import { adviceFor, recoveryAdvice } from "./advice.ts";
import type { Evidence } from "./evidence.ts";
import type { ExplorationResult, ReportCounts, Violation } from "./exploration-result.ts";
import { INVARIANTS } from "./invariants/index.ts";
import { scheduleText } from "./schedule.ts";
import { shortened, storyOf } from "./story.ts";

/** One line of a report; whoever shows it decides about its width and colours. */
export type ReportLine = {
  readonly indent: number;
  readonly text: string;
  /** `code` is to be copied as it is. */
  readonly tone: "title" | "broken" | "plain" | "quiet" | "code";
};

export function reportLines(report: ExplorationResult): readonly ReportLine[] {
  return [
    line(0, headline(report), report.violations.length > 0 ? "broken" : "title"),
    line(0, `points: ${pointsByCall(report)}`, "quiet"),
    ...unprovenLines(report),
    ...missedLines(report.counts),
    ...report.violations.flatMap((violation, index) =>
      violationLines(violation, report.violations.slice(0, index)),
    ),
    ...askedLines(report),
  ];
}

export function plainText(lines: readonly ReportLine[]): string {
  return lines.map(({ indent, text }) => `${" ".repeat(indent)}${text}`.trimEnd()).join("\n");
}

function line(indent: number, text: string, tone: ReportLine["tone"] = "plain"): ReportLine {
  return { indent, text, tone };
}

const BLANK = line(0, "");

function headline(report: ExplorationResult): string {
  const { points, counts, violations } = report;
  const { byMode, schedules } = counts;
  // The first schedule is the one in which nothing happens.
  const done: ReportCounts["byMode"] = { ...byMode, crash: (byMode.crash ?? 0) - 1 };
  const parts = Object.entries(MODES).flatMap(([mode, [one, many]]) => {
    const times = done[mode] ?? 0;
    return times === 0 ? [] : [counted(times, one, many)];
  });
  const kept =
    violations.length === 0
      ? whyUnproven(report) === null
        ? "every promise kept"
        : "NOT TESTED"
      : `${counted(violations.length, "promise")} BROKEN`;
  return `${counted(points.length, "point")}, ${counted(schedules, "schedule")} (${["1 undisturbed", ...parts].join(", ")}): ${kept}`;
}

const MODES: { readonly [mode: string]: readonly [one: string, many: string] } = {
  crash: ["crash", "crashes"],
  twice: ["pair of crashes", "pairs of crashes"],
  pause: ["pause", "pauses"],
  close: ["close", "closes"],
  disk: ["full disk", "full disks"],
  random: ["random course", "random courses"],
};

function pointsByCall({ points }: ExplorationResult): string {
  const byCall = Map.groupBy(points, ({ call }) => call);
  return [...byCall].map(([call, all]) => `${call} ${all.length}`).join(", ");
}

/** A run that fails by itself, or that nothing was done to, shows nothing about crashes. */
export function whyUnproven({ scenario, undisturbed, points, counts }: ExplorationResult): string | null {
  if (points.length === 0) return "The run came to no point at which it could have died: nothing was tested.";
  const how = scenario.mayFail === true ? null : failureOf(undisturbed);
  if (how !== null)
    return `Undisturbed, the run came to: ${how}. A run that does not succeed by itself tests little: mend it, or say \`mayFail: true\` if it is meant to.`;
  const tried = counts.schedules - 1;
  if (tried > 0 && tried === counts.missed)
    return "No process came to the point that was named: nothing was tested.";
  return null;
}

function failureOf({ lives, accounts }: Evidence): string | null {
  const end = lives[0]?.end;
  if (end?.kind === "threw") return `failed (${end.name}: ${end.message})`;
  const unfinished = accounts.find(({ run }) => run.status !== "succeeded");
  if (unfinished !== undefined) {
    const { status, error } = unfinished.run;
    return error === null ? status : `${status} (${error.message})`;
  }
  return end?.kind === "returned" ? null : (end?.kind ?? "nothing");
}

function unprovenLines(report: ExplorationResult): readonly ReportLine[] {
  const why = whyUnproven(report);
  return why === null ? [] : [line(0, why, "broken")];
}

function missedLines({ missed }: ReportCounts): readonly ReportLine[] {
  if (missed === 0) return [];
  const what = `In ${counted(missed, "schedule")} a point was not reached: the run went another way, or there is no such point.`;
  return [line(0, what)];
}

function violationLines(violation: Violation, before: readonly Violation[]): readonly ReportLine[] {
  const { invariant, times, problems, evidence } = violation;
  const known = INVARIANTS.find(({ name }) => name === invariant);
  const schedule = scheduleText(evidence.schedule);
  const told = before.find((other) => scheduleText(other.evidence.schedule) === schedule);
  return [
    BLANK,
    line(0, `✗ ${invariant}, broken in ${counted(times, "schedule")}`, "broken"),
    line(2, known?.promise ?? "A promise of your own.", "quiet"),
    ...problems.slice(0, MOST_PROBLEMS).map(({ what }) => line(2, what)),
    ...more(problems.length - MOST_PROBLEMS, "problem"),
    line(2, "shortest schedule:", "quiet"),
    line(4, schedule, "code"),
    ...(told === undefined
      ? storyLines(violation)
      : [line(2, `what the outside saw: the same as for ${told.invariant}`, "quiet")]),
    ...adviceLines(violation, before),
  ];
}

function storyLines({ problems, evidence }: Violation): readonly ReportLine[] {
  const tools = new Set(problems.flatMap(({ tool }) => (tool === undefined ? [] : [tool])));
  return [
    line(2, "what the outside saw:", "quiet"),
    ...shortened(storyOf(evidence), tools, MOST_STORY).map((each) =>
      "leftOut" in each
        ? line(4, `… ${each.leftOut} more`, "quiet")
        : line(4, `process ${each.process}  ${each.what}`),
    ),
  ];
}

function adviceLines(violation: Violation, before: readonly Violation[]): readonly ReportLine[] {
  const advice = adviceFor(violation, isOwn(violation));
  if (advice.length === 0) return [];
  const text = advice.join("\n");
  const told = before.find((other) => adviceFor(other, isOwn(other)).join("\n") === text);
  if (told !== undefined) return [line(2, `how to mend it: the same as for ${told.invariant}`, "quiet")];
  return [line(2, "how to mend it:", "quiet"), ...advice.map((each) => line(4, each))];
}

/** Not one of Pawl's. */
function isOwn({ invariant }: Violation): boolean {
  return !INVARIANTS.some(({ name }) => name === invariant);
}

const MOST_PROBLEMS = 5;
const MOST_STORY = 20;

function more(count: number, what: string): readonly ReportLine[] {
  return count <= 0 ? [] : [line(2, `and ${counted(count, what)} more`, "quiet")];
}

/** Nothing is broken there: the run waits, and somebody has to look. */
function askedLines({ counts, scenario }: ExplorationResult): readonly ReportLine[] {
  const asked = Object.entries(counts.askedAbout);
  if (asked.length === 0) return [];
  return [
    BLANK,
    line(
      0,
      "A person was asked what became of a call. To let it recover by itself, say in its definition:",
      "title",
    ),
    ...asked.map(([tool, times]) =>
      line(2, `${tool} (asked in ${counted(times, "schedule")}): ${recoveryAdvice(scenario, tool)}`),
    ),
  ];
}

/** The same for programs. */
export function reportDocument(report: ExplorationResult) {
  const { points, counts, violations, scenario } = report;
  const unproven = whyUnproven(report);
  return {
    pipeline: scenario.name ?? scenario.pipeline.name,
    kept: violations.length === 0 && unproven === null,
    unproven,
    points: points.length,
    pointsByCall: Object.fromEntries(
      [...Map.groupBy(points, ({ call }) => call)].map(([call, all]) => [call, all.length]),
    ),
    counts,
    violations: violations.map((violation) => {
      const { invariant, times, problems, evidence } = violation;
      const known = INVARIANTS.find(({ name }) => name === invariant);
      return {
        invariant,
        promise: known?.promise ?? null,
        times,
        problems,
        schedule: scheduleText(evidence.schedule),
        story: storyOf(evidence).map(({ process, what }) => ({ process, what })),
        advice: adviceFor(violation, isOwn(violation)),
      };
    }),
    askedAbout: Object.entries(counts.askedAbout).map(([tool, schedules]) => ({
      tool,
      schedules,
      advice: recoveryAdvice(scenario, tool),
    })),
  };
}
