import { cleanLine, cut } from "../context/terminal-text.ts";
import { answerRows } from "../screen/answer-text.ts";
import { formatClock, type Paint } from "../screen/format.ts";
import { shownInput } from "../screen/progress-lines.ts";
import { FRAMES } from "../screen/progress-screen.ts";
import type { ChatView } from "./chat-view.ts";

/** What a person has asked for and waits for now. */
export type ChatPhase = "talking" | "stopping" | "leaving";

export type ChatStatus = {
  readonly view: ChatView;
  readonly phase: ChatPhase;
  /** What the run waits for, if no person answers it. */
  readonly awaited: string | null;
  /** A worker answers. */
  readonly sendOnly: boolean;
  readonly now: number;
  readonly columns: number;
  /** The most rows of an answer that is being written. */
  readonly answerRows: number;
};

const PHASES = {
  stopping: "stopping; Ctrl-C leaves now",
  leaving: "finishing; Ctrl-C leaves now",
} as const;

/** The rows between what stays and the prompt: the answer so far, what happens now, and texts that wait for their turn. */
export function statusRows(status: ChatStatus, { dim }: Paint): readonly string[] {
  const { view, columns } = status;
  const answer = answerRows(view.answer, columns, status.answerRows);
  const isThinking = view.answer?.label !== "";
  const waiting = view.waiting.map(({ text, mode }) => {
    const why = mode === "steer" ? "joins" : view.isAnswering ? "next" : status.sendOnly ? "sent" : "";
    const end = why === "" ? "" : `  (${why})`;
    return dim(`${cut(`› ${cleanLine(text)}`, columns - end.length)}${end}`);
  });
  return [
    ...(isThinking ? answer.map((row) => dim(row)) : answer),
    ...activity(status).map((row) => dim(cut(row, columns))),
    ...waiting,
  ];
}

function activity({ view, phase, awaited, sendOnly, now }: ChatStatus): readonly string[] {
  const frame = FRAMES[Math.floor(now / 200) % FRAMES.length] ?? "";
  if (phase !== "talking") return [`${frame} ${PHASES[phase]}`];
  if (awaited !== null) return [`${frame} waiting ${awaited}`];
  if (view.calls.length > 0)
    return view.calls.map(({ tool, input, since }) =>
      cleanLine(`${frame} ${formatClock(now - since)}  ${tool} ${shownInput(input)}`),
    );
  if (view.since !== null && view.answer === null) return [`${frame} ${formatClock(now - view.since)}`];
  if (view.since !== null || view.waiting.length === 0) return [];
  // A summary of what was said before takes as long as an answer, and no exchange is open meanwhile.
  return [`${frame} ${sendOnly && !view.isClaimed ? "waiting for a worker" : "preparing the answer"}`];
}
