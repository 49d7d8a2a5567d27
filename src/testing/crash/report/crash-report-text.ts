import { counted } from "../../../export/figures.ts";
import type { Evidence } from "../evidence.ts";
import { INVARIANTS } from "../invariants/index.ts";
import { scheduleText } from "../schedule.ts";
import { shortenTimeline, timelineOf } from "../timeline.ts";
import { adviceFor, recoveryAdvice } from "./advice.ts";
import type { ExplorationResult, ReportCounts, Violation } from "./exploration-result.ts";

/** One line of a report; the caller that prints it decides about its width and colours. */
export type ReportLine = {
  readonly indent: number;
  readonly text: string;
  /** `code` is text to copy verbatim. */
  readonly tone: "title" | "broken" | "plain" | "quiet" | "code";
};

export function reportLines(report: ExplorationResult): readonly ReportLine[] {
  return [
    line(0, headline(report), report.violations.length > 0 ? "broken" : "title"),
    line(0, `points: ${pointsByCall(report)}`, "quiet"),
    ...unprovenLines(report),
    ...missedLines(report.counts),
    ...neverRanLines(report),
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
  // The first schedule is the undisturbed one.
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
  random: ["random schedule", "random schedules"],
};

function pointsByCall({ points }: ExplorationResult): string {
  const byCall = Map.groupBy(points, ({ call }) => call);
  return [...byCall].map(([call, all]) => `${call} ${all.length}`).join(", ");
}

/** A run that fails undisturbed, or was never disturbed, proves nothing about crashes. */
export function whyUnproven({ scenario, undisturbed, points, counts }: ExplorationResult): string | null {
  if (points.length === 0) return "The run reached no point at which it could crash: nothing was tested.";
  const failure = scenario.mayFail === true ? null : failureOf(undisturbed);
  if (failure !== null)
    return `Undisturbed, the run ended as: ${failure}. A run that does not succeed undisturbed tests little: fix it, or set \`mayFail: true\` if it is meant to fail.`;
  const tried = counts.schedules - 1;
  if (tried > 0 && tried === counts.missed) return "No process reached the named point: nothing was tested.";
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
  const what = `In ${counted(missed, "schedule")} a point was not reached: the run took another path, or there is no such point.`;
  return [line(0, what)];
}

/** A tool that never ran kept its promises in every schedule, whatever it declares. */
function neverRanLines({ neverRan }: ExplorationResult): readonly ReportLine[] {
  if (neverRan.length === 0) return [];
  const them = neverRan.length === 1 ? "it" : "them";
  const what = `never ran: ${neverRan.join(", ")}. No schedule says anything about ${them}: test a run that calls ${them} too.`;
  return [line(0, what, "title")];
}

function violationLines(violation: Violation, before: readonly Violation[]): readonly ReportLine[] {
  const { invariant, times, problems, evidence } = violation;
  const known = INVARIANTS.find(({ name }) => name === invariant);
  const schedule = scheduleText(evidence.schedule);
  const shown = before.find((other) => scheduleText(other.evidence.schedule) === schedule);
  return [
    BLANK,
    line(0, `✗ ${invariant}, broken in ${counted(times, "schedule")}`, "broken"),
    line(2, known?.promise ?? "Your own invariant.", "quiet"),
    ...problems.slice(0, MAX_PROBLEMS).map(({ what }) => line(2, what)),
    ...more(problems.length - MAX_PROBLEMS, "problem"),
    line(2, "shortest schedule:", "quiet"),
    line(4, schedule, "code"),
    ...(shown === undefined
      ? timelineLines(violation)
      : [line(2, `what the outside saw: the same as for ${shown.invariant}`, "quiet")]),
    ...adviceLines(violation, before),
  ];
}

function timelineLines({ problems, evidence }: Violation): readonly ReportLine[] {
  const tools = new Set(problems.flatMap(({ tool }) => (tool === undefined ? [] : [tool])));
  return [
    line(2, "what the outside saw:", "quiet"),
    ...shortenTimeline(timelineOf(evidence), tools, MAX_TIMELINE).map((each) =>
      "leftOut" in each
        ? line(4, `… ${each.leftOut} more`, "quiet")
        : line(4, `process ${each.process}  ${each.what}`),
    ),
  ];
}

function adviceLines(violation: Violation, before: readonly Violation[]): readonly ReportLine[] {
  const advice = adviceFor(violation, { isOwn: isOwn(violation) });
  if (advice.length === 0) return [];
  const text = advice.join("\n");
  const shown = before.find((other) => adviceFor(other, { isOwn: isOwn(other) }).join("\n") === text);
  if (shown !== undefined) return [line(2, `how to fix it: the same as for ${shown.invariant}`, "quiet")];
  return [line(2, "how to fix it:", "quiet"), ...advice.map((each) => line(4, each))];
}

/** True for a user's invariant. */
function isOwn({ invariant }: Violation): boolean {
  return !INVARIANTS.some(({ name }) => name === invariant);
}

const MAX_PROBLEMS = 5;
const MAX_TIMELINE = 20;

function more(count: number, what: string): readonly ReportLine[] {
  return count <= 0 ? [] : [line(2, `and ${counted(count, what)} more`, "quiet")];
}

/** Calls in doubt that a person had to settle: no promise is broken, but the run waited. */
function askedLines({ counts, scenario }: ExplorationResult): readonly ReportLine[] {
  const asked = Object.entries(counts.askedAbout);
  if (asked.length === 0) return [];
  return [
    BLANK,
    line(
      0,
      "A person was asked about a call in doubt. To let it recover automatically, change its definition:",
      "title",
    ),
    ...asked.map(([tool, times]) =>
      line(2, `${tool} (asked in ${counted(times, "schedule")}): ${recoveryAdvice(scenario, tool)}`),
    ),
  ];
}

/** The report as JSON. */
export function reportDocument(report: ExplorationResult) {
  const { points, counts, violations, neverRan, scenario } = report;
  const unproven = whyUnproven(report);
  return {
    pipeline: scenario.name ?? scenario.pipeline.name,
    kept: violations.length === 0 && unproven === null,
    unproven,
    points: points.length,
    pointsByCall: Object.fromEntries(
      [...Map.groupBy(points, ({ call }) => call)].map(([call, all]) => [call, all.length]),
    ),
    neverRan,
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
        story: timelineOf(evidence).map(({ process, what }) => ({ process, what })),
        advice: adviceFor(violation, { isOwn: isOwn(violation) }),
      };
    }),
    askedAbout: Object.entries(counts.askedAbout).map(([tool, schedules]) => ({
      tool,
      schedules,
      advice: recoveryAdvice(scenario, tool),
    })),
  };
}
