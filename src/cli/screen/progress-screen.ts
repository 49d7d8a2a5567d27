import type { Amount } from "../../core/usage/usage.ts";
import type { Clock } from "../../engine/ports/clock.ts";
import type { LiveEvent } from "../../engine/ports/live-events.ts";
import type { RunEvent } from "../../engine/ports/run-events.ts";
import type { TextOutput } from "../context/cli-context.ts";
import { cut, widthOf, wrap } from "../context/terminal-text.ts";
import { type AnswerText, answerAfter, answerRows, withdrawnText } from "./answer-text.ts";
import { progressAfter, progressAt, type RunProgress, withChargedBefore } from "./progress.ts";
import { activityText, progressBlock } from "./progress-block.ts";
import { inside, outside, type ProgressLine, progressLines, type Tone } from "./progress-lines.ts";

type Painter = { readonly [T in Tone | "block"]: (text: string) => string };

/** How lines begin. */
export const MARKS: { readonly [T in Tone]: string } = {
  good: "✓",
  bad: "✗",
  warning: "!",
  quiet: "·",
  plain: "›",
};

const REDRAW_MS = 200;
/** While an answer is written. */
const REDRAW_LIVE_MS = 50;

/** After these the answer that was shown is a line of its own, or the result. */
const ENDS_ANSWER: readonly RunEvent["type"][] = [
  "turn.started",
  "turn.committed",
  "step.finished",
  "run.finished",
];

/** Without a live block, a line is printed after this much silence. */
const SILENCE_MS = 30_000;

export const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"] as const;

const HIDE_CURSOR = "\u001b[?25l";
const SHOW_CURSOR = "\u001b[?25h";
const CLEAR_LINE = "\u001b[K";
const CLEAR_BELOW = "\u001b[J";

/** A display of a run in progress. */
export type RunScreen = Pick<
  ProgressScreen,
  "start" | "stop" | "resume" | "showEvent" | "showLive" | "print" | "addEarlierCharges" | "hint" | "progress"
>;

/**
 * Shows a run in progress. On a terminal, a block of a few lines is redrawn in place and finished work scrolls above it;
 * elsewhere every important line is written once.
 */
export class ProgressScreen {
  readonly #output: TextOutput;
  readonly #clock: Clock;
  readonly #paint: Painter;
  readonly #phaseOf: (path: string) => string | null;
  #progress: RunProgress;
  #hint = "";
  /** What the model is writing now, above the block. */
  #answer: AnswerText | null = null;
  #drawnAt = Number.NEGATIVE_INFINITY;
  #drawn: readonly string[] = [];
  #isResumed = false;
  #lastLineAt: number;
  #stopTimer: (() => void) | null = null;

  constructor(
    output: TextOutput,
    clock: Clock,
    paint: Painter,
    phaseOf: (path: string) => string | null = () => null,
  ) {
    this.#phaseOf = phaseOf;
    this.#output = output;
    this.#clock = clock;
    this.#paint = paint;
    this.#lastLineAt = clock.monotonic();
    this.#progress = progressAt(this.#lastLineAt);
  }

  start(): void {
    const { isTerminal } = this.#output;
    if (isTerminal) this.#output.write(HIDE_CURSOR);
    this.#stopTimer = this.#clock.every(isTerminal ? REDRAW_MS : SILENCE_MS, () =>
      isTerminal ? this.#draw([]) : this.#breakSilence(),
    );
  }

  /** Removes the block and shows the cursor again; may be called more than once. */
  stop(): void {
    if (this.#stopTimer === null) return;
    this.#stopTimer();
    this.#stopTimer = null;
    if (!this.#output.isTerminal) return;
    this.#output.write(`${this.#backToTop()}${CLEAR_BELOW}${SHOW_CURSOR}`);
    this.#drawn = [];
  }

  readonly showEvent = (event: RunEvent): void => {
    const now = this.#clock.monotonic();
    const audience = this.#output.isTerminal ? "terminal" : "log";
    const lines = this.#isKnown(event) ? [] : progressLines(this.#progress, event, now, audience);
    this.#progress = progressAfter(this.#progress, event, now, this.#phaseOf);
    if (ENDS_ANSWER.includes(event.type)) this.#answer = null;
    this.#show(lines);
  };

  /** On a terminal, shows an answer while it is written. It is taken back when it is withdrawn, and when its turn is there. */
  readonly showLive = (event: LiveEvent): void => {
    if (!this.#output.isTerminal) return;
    this.#answer = answerAfter(this.#answer, event);
    if (event.type === "attempt.withdrawn") this.#show([inside("quiet", withdrawnText(event))]);
    else if (this.#clock.monotonic() - this.#drawnAt >= REDRAW_LIVE_MS) this.#show([]);
  };

  /** Prints a line that is not about an event. */
  print(tone: Tone, text: string): void {
    this.#show([outside(tone, text)]);
  }

  #show(lines: readonly ProgressLine[]): void {
    if (lines.length > 0) this.#lastLineAt = this.#clock.monotonic();
    if (this.#output.isTerminal && this.#stopTimer !== null) this.#draw(lines);
    else this.#output.write(this.#rendered(lines));
  }

  /** Adds what the run had used before this command resumed it. */
  addEarlierCharges(charged: Amount): void {
    this.#progress = withChargedBefore(this.#progress, charged);
  }

  /** What the user can do, shown if there is room. */
  set hint(hint: string) {
    this.#hint = hint;
  }

  get hint(): string {
    return this.#hint;
  }

  get progress(): RunProgress {
    return this.#progress;
  }

  /** Starts again after an answer, for the same run: events that were already shown are not repeated. */
  resume(): void {
    this.#isResumed = true;
    this.start();
  }

  #isKnown(event: RunEvent): boolean {
    if (!this.#isResumed) return false;
    return (
      event.type === "run.started" ||
      event.type === "step.skipped" ||
      (event.type === "turn.started" && event.replayed)
    );
  }

  #breakSilence(): void {
    const now = this.#clock.monotonic();
    if (now - this.#lastLineAt < SILENCE_MS) return;
    this.print("quiet", `still at ${activityText(this.#progress, now)}`);
  }

  /** Draws everything in one write, clearing each line as it is written, to avoid flicker. */
  #draw(lines: readonly ProgressLine[]): void {
    const now = this.#clock.monotonic();
    const { columns } = this.#output;
    const top = this.#backToTop();
    const frame = FRAMES[Math.floor(now / REDRAW_MS) % FRAMES.length] ?? "";
    const [first = "", ...rest] = progressBlock(this.#progress, now, columns - 2, this.#hint);
    const answer = answerRows(this.#answer, columns - 5).map((row) => `  │ ${row}`);
    this.#drawn = [...answer, `${frame} ${first}`, ...rest.map((line) => `  ${line}`)];
    this.#drawnAt = now;
    const printed = this.#rendered(lines).replaceAll("\n", `${CLEAR_LINE}\n`);
    const block = this.#drawn.map((line) => `${this.#paint.block(line)}${CLEAR_LINE}\n`).join("");
    this.#output.write(`${top}${printed}${block}${CLEAR_BELOW}`);
  }

  /** Moves to the first line of the block. A terminal that was made narrower has wrapped its lines. */
  #backToTop(): string {
    const columns = Math.max(1, this.#output.columns);
    const rows = this.#drawn.reduce((sum, line) => sum + Math.max(1, Math.ceil(widthOf(line) / columns)), 0);
    return rows === 0 ? "\r" : `\u001b[${rows}A\r`;
  }

  #rendered(lines: readonly ProgressLine[]): string {
    return lines
      .flatMap((line) => this.#renderedLine(line))
      .map((line) => `${line}\n`)
      .join("");
  }

  /** On a terminal one line each, except for warnings, which are wrapped; a log is searched, so nothing is cut there. */
  #renderedLine({ tone, isInside, text, figures }: ProgressLine): readonly string[] {
    const indent = isInside ? "  " : "";
    const paint = this.#paint[tone];
    const mark = `${indent}${paint(MARKS[tone])} `;
    const end = figures === "" ? "" : `  ${figures}`;
    if (!this.#output.isTerminal) return [`${mark}${text}${end}`];
    const room = Math.max(1, this.#output.columns - 1 - indent.length - 2);
    const rows = tone === "warning" ? wrap(text, room) : [shortened(text, end, room)];
    return rows.map(
      (row, index) => `${index === 0 ? mark : `${indent}  `}${tone === "quiet" ? paint(row) : row}`,
    );
  }
}

/** Cuts the text rather than the figures, unless nothing would be left of it. */
export function shortened(text: string, end: string, columns: number): string {
  const room = columns - widthOf(end);
  return room < widthOf(end) ? cut(text, columns) : `${cut(text, room)}${end}`;
}
