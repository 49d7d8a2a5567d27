import { cleanLine, cut, pad, widthOf } from "../context/terminal-text.ts";
import { formatClock, formatMoney, formatWholeNumber } from "./format.ts";
import type { Progress, ToolUnderWay } from "./progress.ts";
import { shownInput } from "./progress-lines.ts";

const MOST_TOOLS = 3;

/** The lines that are redrawn while a run works: where it is, what is under way and for how long, what it has used. */
export function progressBlock(
  progress: Progress,
  now: number,
  columns: number,
  hint: string,
): readonly string[] {
  // The last column stays free: a terminal that writes there may begin a new line.
  const room = columns - 1;
  return [
    spread(cleanLine(whereItIs(progress)), formatClock(now - progress.since), room),
    ...underWay(progress, now).map(([what, time]) => spread(`  ${what}`, time, room)),
    withHint(`  ${figures(progress)}`, hint, room),
  ];
}

/** `crawl · research · turn 3`: the phase, and the innermost step, whose path names the ones around it. */
function whereItIs({ steps }: Progress): string {
  const step = steps.at(-1);
  if (step === undefined) return "on to the next step";
  const phase = step.phase === null || step.phase === step.path ? [] : [step.phase];
  return [...phase, step.path, ...(step.turn === null ? [] : [`turn ${step.turn}`])].join(" · ");
}

/** In words: `turn 3 of research`. */
export function placeOf({ steps }: Progress): string {
  const step = steps.at(-1);
  if (step === undefined) return "what is under way";
  return cleanLine(step.turn === null ? step.path : `turn ${step.turn} of ${step.path}`);
}

/** The same with what is waited for: `turn 3 of research: send_email (0:12)`. */
export function whatIsUnderWay(progress: Progress, now: number): string {
  const what = underWay(progress, now).map(([text, time]) => (time === "" ? text : `${text} (${time})`));
  return what.length === 0 ? placeOf(progress) : `${placeOf(progress)}: ${what.join(", ")}`;
}

function underWay({ model, tools }: Progress, now: number): readonly (readonly [string, string])[] {
  const shown = tools
    .slice(0, MOST_TOOLS)
    .map((tool) => [toolText(tool), formatClock(now - tool.since)] as const);
  const more = tools.length - shown.length;
  if (more > 0) return [...shown, [`and ${more} more`, ""]];
  if (shown.length > 0 || model === null) return shown;
  return [[model.failed ? "asking the model again" : "asking the model", formatClock(now - model.since)]];
}

const STATES = {
  running: "",
  retrying: " (waits to be tried again)",
  landing: " (a lost try may still land)",
} as const;

function toolText({ tool, input, attempt, state }: ToolUnderWay): string {
  const tries = attempt > 1 ? ` (try ${attempt})` : "";
  return cleanLine(`${tool}${tries}${STATES[state]} ${shownInput(input)}`.trimEnd());
}

function figures({ charged }: Progress): string {
  const tokens = `${formatWholeNumber(charged.tokens)} tokens`;
  return charged.microDollars === 0 ? tokens : `${tokens} · ${formatMoney(charged.microDollars)}`;
}

/** Text on the left, cut where it has to be; a time on the right. */
function spread(left: string, right: string, columns: number): string {
  const space = columns - widthOf(right) - 2;
  return right === "" || space < 1 ? cut(left, columns) : `${pad(cut(left, space), space)}  ${right}`;
}

/** A hint is told where there is room for it. */
function withHint(left: string, hint: string, columns: number): string {
  return widthOf(left) + 2 + widthOf(hint) > columns ? cut(left, columns) : spread(left, hint, columns);
}
