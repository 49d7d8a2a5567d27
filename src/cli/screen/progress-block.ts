import { cleanLine, cut, pad, widthOf } from "../context/terminal-text.ts";
import { formatClock, formatMoney, formatTimeOfDay, formatWholeNumber } from "./format.ts";
import type { ActiveTool, RunProgress } from "./progress.ts";
import { shownInput } from "./progress-lines.ts";

const MOST_TOOLS = 3;

/** The lines that are redrawn during a run: its position, the work in progress with its time, and the usage. */
export function progressBlock(
  progress: RunProgress,
  now: number,
  columns: number,
  hint: string,
): readonly string[] {
  // The last column stays free: writing there may wrap the line.
  const room = columns - 1;
  return [
    spread(cleanLine(stepHeading(progress)), formatClock(now - progress.since), room),
    ...activities(progress, now).map(([what, time]) => spread(`  ${what}`, time, room)),
    withHint(`  ${figures(progress)}`, hint, room),
  ];
}

/** `crawl · research · turn 3`: the phase and the innermost step, whose path includes its parents. */
function stepHeading({ steps }: RunProgress): string {
  const step = steps.at(-1);
  if (step === undefined) return "starting the next step";
  const phase = step.phase === null || step.phase === step.path ? [] : [step.phase];
  return [...phase, step.path, ...(step.turn === null ? [] : [`turn ${step.turn}`])].join(" · ");
}

/** The position in words: `turn 3 of research`. */
export function stepText({ steps }: RunProgress): string {
  const step = steps.at(-1);
  if (step === undefined) return "the work in progress";
  return cleanLine(step.turn === null ? step.path : `turn ${step.turn} of ${step.path}`);
}

/** The position and the work in progress: `turn 3 of research: send_email (0:12)`. */
export function activityText(progress: RunProgress, now: number): string {
  const what = activities(progress, now).map(([text, time]) => (time === "" ? text : `${text} (${time})`));
  return what.length === 0 ? stepText(progress) : `${stepText(progress)}: ${what.join(", ")}`;
}

function activities({ model, tools }: RunProgress, now: number): readonly (readonly [string, string])[] {
  const shown = tools
    .slice(0, MOST_TOOLS)
    .map((tool) => [toolText(tool), formatClock(now - tool.since)] as const);
  const more = tools.length - shown.length;
  if (more > 0) return [...shown, [`and ${more} more`, ""]];
  if (shown.length > 0 || model === null) return shown;
  return [modelText(model, now)];
}

function modelText(
  { failed, since, outage }: NonNullable<RunProgress["model"]>,
  now: number,
): readonly [string, string] {
  const asking = failed ? "asking the model again" : "asking the model";
  if (outage === null) return [asking, formatClock(now - since)];
  const next = outage.until > now ? `next request in ${formatClock(outage.until - now)}` : asking;
  const from = formatTimeOfDay(outage.wallSince);
  return [`waiting for the model's provider since ${from}: ${next}`, formatClock(now - outage.since)];
}

const STATES = {
  running: "",
  retrying: " (waiting to retry)",
  landing: " (a lost attempt may still take effect)",
} as const;

function toolText({ tool, input, attempt, state }: ActiveTool): string {
  const attempts = attempt > 1 ? ` (attempt ${attempt})` : "";
  return cleanLine(`${tool}${attempts}${STATES[state]} ${shownInput(input)}`.trimEnd());
}

function figures({ charged }: RunProgress): string {
  const tokens = `${formatWholeNumber(charged.tokens)} tokens`;
  return charged.microDollars === 0 ? tokens : `${tokens} · ${formatMoney(charged.microDollars)}`;
}

/** Text on the left, cut if necessary; a time on the right. */
function spread(left: string, right: string, columns: number): string {
  const space = columns - widthOf(right) - 2;
  return right === "" || space < 1 ? cut(left, columns) : `${pad(cut(left, space), space)}  ${right}`;
}

/** The hint is shown only if there is room for it. */
function withHint(left: string, hint: string, columns: number): string {
  return widthOf(left) + 2 + widthOf(hint) > columns ? cut(left, columns) : spread(left, hint, columns);
}
