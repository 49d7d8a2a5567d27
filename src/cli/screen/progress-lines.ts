import type { Json } from "../../core/json.ts";
import type { RunEvent } from "../../engine/ports/run-events.ts";
import { cleanLine } from "../context/terminal-text.ts";
import { counted, formatDuration, formatTimeOfDay } from "./format.ts";
import type { RunProgress } from "./progress.ts";

/** How a line is marked and painted. */
export type Tone = "good" | "bad" | "warning" | "quiet" | "plain";

/** A permanent line: cleaned, not cut yet. */
export type ProgressLine = {
  readonly tone: Tone;
  /** Indented below its step. */
  readonly isInside: boolean;
  readonly text: string;
  /** Figures that are kept even if the text is cut. */
  readonly figures: string;
};

/** The kind of output. On a terminal the live block shows what has started; a log needs a line for it. */
export type LineAudience = "terminal" | "log";

/**
 * The permanent lines of an event: what ended, and what is unusual. `before` is the progress without the event, which has the
 * start time of what ended.
 */
export function progressLines(
  before: RunProgress,
  event: RunEvent,
  now: number,
  audience: LineAudience,
): readonly ProgressLine[] {
  switch (event.type) {
    case "run.started":
      return [outside("plain", `run ${event.runId} ${event.resumed ? "resumes" : "starts"}`)];
    case "step.started":
      return audience === "log" ? [outside("plain", `${event.step} starts`)] : [];
    case "step.finished":
      return [outside("good", event.step, stepFigures(before, event.step, now))];
    case "step.skipped":
      return [outside("quiet", `${event.step} is already done`)];
    case "turn.started":
      return event.replayed ? [inside("quiet", `turn ${event.turn} replays its stored response`)] : [];
    case "turn.committed":
      return event.text.trim() === "" || event.isComplete
        ? []
        : [inside("plain", `turn ${event.turn}: ${event.text.trim()}`)];
    case "model.failed":
      return modelFailure(before, event, audience);
    case "usage.baseline":
      return [inside("warning", baselineText(event))];
    case "tool.finished":
      return [toolLine(before, event, now)];
    case "tool.retrying":
      return [inside("warning", `${event.tool}: ${sentence(event.message)}${again(event.retryInMs)}`)];
    case "tool.reconciled":
      return [inside("quiet", `${event.tool} was looked up: ${RECONCILED[event.status]}`)];
    case "tool.waiting":
      return [inside("quiet", `${event.tool}: a lost attempt may still take effect, so the next one waits`)];
    case "tool.in_doubt":
      return [inside("warning", `${event.toolCallId} is in doubt: it may or may not have happened`)];
    case "lease.lost":
      return [outside("warning", "another process holds the run: this one stops")];
    case "tool.deduplicated":
      return [
        inside("quiet", `${event.tool} is not run again: it reuses the receipt of ${event.duplicateOf}`),
      ];
    case "exchange.ended":
      return event.why === null
        ? []
        : [inside("warning", `exchange ${event.exchange} ended without a complete answer: ${event.why}`)];
    case "lineage.begun":
      return event.reason === "compaction"
        ? [inside("quiet", `${event.step} continues with a summary of its history`)]
        : [inside("quiet", `${event.step} resumes ${beginning(event.checkpoint)} with turn ${event.turn}`)];
    case "checkpoint.saved":
      return event.turn === 0 ? [] : [inside("quiet", `milestone ${event.checkpoint} saved`)];
    case "warning":
      return [outside("warning", event.message)];
    case "usage.settled":
      return outageEnd(before, event, now);
    case "tool.started":
    case "run.finished":
      return [];
  }
}

/** On a terminal the live block shows the rest of an outage; a log gets a short line for each refused request. */
function modelFailure(
  before: RunProgress,
  { message, retryInMs, outageSince }: Extract<RunEvent, { readonly type: "model.failed" }>,
  audience: LineAudience,
): readonly ProgressLine[] {
  const what = sentence(message);
  if (outageSince === null || retryInMs === null)
    return [inside("warning", `the model failed: ${what}${again(retryInMs)}`)];
  const since = `waiting since ${formatTimeOfDay(outageSince)}`;
  const wait = audience === "log" ? `${since}${again(retryInMs)}` : since;
  if (before.model?.outage?.wallSince !== outageSince)
    return [inside("warning", `${what}; nothing is charged: ${wait}`)];
  return audience === "log" ? [inside("warning", `still refused: ${wait}`)] : [];
}

function outageEnd(
  { model }: RunProgress,
  { basis }: Extract<RunEvent, { readonly type: "usage.settled" }>,
  now: number,
): readonly ProgressLine[] {
  if (basis === "none" || model === null || model.outage === null) return [];
  return [
    inside("good", `the model's provider takes requests again`, formatDuration(now - model.outage.since)),
  ];
}

function baselineText({ turn, charged }: Extract<RunEvent, { readonly type: "usage.baseline" }>): string {
  return `turn ${turn} got no response with its usage: ${counted(charged.tokens, "token")} stay charged`;
}

const RECONCILED = {
  done: "it had happened",
  absent: "it had not happened",
  unknown: "its outcome is unknown",
} as const;

function toolLine(
  before: RunProgress,
  { tool, toolCallId, status }: Extract<RunEvent, { readonly type: "tool.finished" }>,
  now: number,
): ProgressLine {
  const known = before.tools.find((each) => each.toolCallId === toolCallId);
  const what = `${tool} ${shownInput(known?.input ?? null)}`.trimEnd();
  const time = known === undefined ? [] : [formatDuration(now - known.since)];
  if (status === "succeeded") return inside("good", what, time.join());
  if (status === "needs_human") return inside("quiet", `${tool} asks a person`, time.join());
  return inside("bad", what, [status.replaceAll("_", " "), ...time].join("  "));
}

const LONGEST_INPUT = 120;

/** Arguments as JSON; long ones are cut, since the receipt has them in full. */
export function shownInput(input: Json): string {
  const text = input === null ? "" : JSON.stringify(input);
  return text.length > LONGEST_INPUT ? `${text.slice(0, LONGEST_INPUT)}…` : text;
}

function stepFigures(before: RunProgress, path: string, now: number): string {
  const step = before.steps.find((each) => each.path === path);
  if (step === undefined) return "";
  const turns = step.turn === null ? [] : [counted(step.turn, "turn")];
  return [...turns, formatDuration(now - step.since)].join("  ");
}

function beginning(checkpoint: number | null): string {
  return checkpoint === null ? "from its beginning" : `from checkpoint ${checkpoint}`;
}

function again(retryInMs: number | null): string {
  return retryInMs === null ? "" : `; retrying in ${formatDuration(retryInMs)}`;
}

function sentence(message: string): string {
  return message.trim().replace(/\.$/, "");
}

/** A line that is not indented below a step. */
export function outside(tone: Tone, text: string, figures = ""): ProgressLine {
  return { tone, isInside: false, text: cleanLine(text), figures };
}

/** A line below its step. */
export function inside(tone: Tone, text: string, figures = ""): ProgressLine {
  return { ...outside(tone, text, figures), isInside: true };
}
