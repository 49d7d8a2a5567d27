import type { LiveEvent } from "../../engine/ports/live-events.ts";
import { cleanText, wrap } from "../context/terminal-text.ts";

/** The part of an answer that a model is writing now. */
export type AnswerText = {
  readonly place: string;
  readonly part: number;
  readonly label: string;
  readonly text: string;
};

/** Only the end is shown: the rest scrolls away, and the whole of it comes with the turn. */
const MOST_ROWS = 6;
const MOST_CHARS = 4_000;

/** The answer after the next piece of it; null after it was withdrawn. */
export function answerAfter(before: AnswerText | null, event: LiveEvent): AnswerText | null {
  if (event.type === "attempt.withdrawn") return null;
  const { step, turn, attempt, part, kind, tool, delta } = event;
  const place = `${step}#${turn}.${attempt}`;
  const known = before?.place === place && before.part === part ? before : null;
  const label = kind === "reasoning" ? "(thinking) " : kind === "tool_input" ? `${tool ?? "tool"} ` : "";
  return {
    place,
    part,
    label: known?.label ?? label,
    text: `${known?.text ?? ""}${delta}`.slice(-MOST_CHARS),
  };
}

/** The last rows of it, wrapped to the width of a terminal. */
export function answerRows(
  answer: AnswerText | null,
  columns: number,
  most: number = MOST_ROWS,
): readonly string[] {
  if (answer === null || answer.text.trim() === "") return [];
  const rows = wrap(cleanText(`${answer.label}${answer.text}`.trimEnd()), Math.max(10, columns));
  return rows.slice(-most);
}

const WHY = {
  failed: "the request to the model failed",
  lost: "its process ended",
  interrupted: "it was stopped",
} as const;

/** What stays of an answer that was taken back. */
export function withdrawnText(event: Extract<LiveEvent, { readonly type: "attempt.withdrawn" }>): string {
  return `(answer withdrawn: ${WHY[event.why]})`;
}
