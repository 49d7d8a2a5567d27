import type { WatchedEvent } from "../../../api/client.ts";

/** A piece of an answer that is being written, as `watch` sends it. */
type LivePiece = {
  readonly step: string;
  readonly turn: number;
  readonly attempt: number;
  readonly part: number;
  readonly kind: "text" | "reasoning" | "tool_input";
  readonly tool?: string;
  readonly delta: string;
};

type LivePart = {
  readonly part: number;
  readonly kind: LivePiece["kind"];
  readonly tool: string | null;
  readonly text: string;
};

/** The answer that is being written now. Hearsay: what counts is what is journaled when it is whole. */
export type LiveAnswer = {
  readonly step: string;
  readonly turn: number;
  readonly attempt: number;
  readonly parts: readonly LivePart[];
};

/** What is watched of a run, as far as it is about the answer that is being written. */
type AnswerEvent =
  | ({ readonly type: "part" } & LivePiece)
  | {
      readonly type: "attempt.withdrawn";
      readonly step: string;
      readonly turn: number;
      readonly attempt: number;
    }
  | { readonly type: "turn.journaled" | "turn.dropped"; readonly step: string; readonly turn: number }
  | { readonly type: "run.claimed" | "run.ended" | "run.waiting" };

/** An event of a run as far as it is about the answer; null if it is not, or if this page does not know its form. */
function answerEvent(watched: WatchedEvent): AnswerEvent | null {
  const { type, step, turn, attempt, part, kind, tool, delta } = watched;
  if (type === "run.claimed" || type === "run.ended" || type === "run.waiting") return { type };
  if (typeof step !== "string" || typeof turn !== "number") return null;
  if (type === "turn.journaled" || type === "turn.dropped") return { type, step, turn };
  if (typeof attempt !== "number") return null;
  if (type === "attempt.withdrawn") return { type, step, turn, attempt };
  if (type !== "part" || typeof part !== "number" || typeof delta !== "string") return null;
  if (kind !== "text" && kind !== "reasoning" && kind !== "tool_input") return null;
  const named = typeof tool === "string" ? { tool } : {};
  return { type, step, turn, attempt, part, kind, delta, ...named };
}

/** A page shows no more of one part: the whole answer is in the transcript when it is journaled. */
const MOST_CHARACTERS = 100_000;

/** The answer after an event. A piece of another attempt begins another answer; a withdrawn attempt leaves nothing. */
export function liveAnswerAfter(answer: LiveAnswer | null, event: AnswerEvent): LiveAnswer | null {
  switch (event.type) {
    case "part":
      return withPiece(answer !== null && isOf(answer, event) ? answer : null, event);
    case "attempt.withdrawn":
      return answer !== null && isOf(answer, event) ? null : answer;
    case "turn.journaled":
    case "turn.dropped":
      return answer !== null && answer.step === event.step && answer.turn === event.turn ? null : answer;
    case "run.claimed":
    case "run.ended":
    case "run.waiting":
      return null;
  }
}

/** Shows the answer as it is written. When what is watched ends, however it does, what is known of it is shown no more. */
export async function showAnswer(
  watched: AsyncIterable<WatchedEvent>,
  show: (answer: LiveAnswer | null) => void,
): Promise<void> {
  let answer: LiveAnswer | null = null;
  try {
    for await (const each of watched) {
      const event = answerEvent(each);
      if (event === null) continue;
      answer = liveAnswerAfter(answer, event);
      show(answer);
    }
  } catch {
    // What is refused is not shown: the transcript has the answer when it is whole.
  } finally {
    show(null);
  }
}

function isOf(
  answer: LiveAnswer,
  { step, turn, attempt }: { readonly step: string; readonly turn: number; readonly attempt: number },
): boolean {
  return answer.step === step && answer.turn === turn && answer.attempt === attempt;
}

function withPiece(answer: LiveAnswer | null, piece: LivePiece): LiveAnswer {
  const { step, turn, attempt, part, kind, tool = null, delta } = piece;
  const known = answer?.parts ?? [];
  const index = known.findIndex((each) => each.part === part);
  const before = known[index];
  const next = {
    part,
    kind,
    tool: before?.tool ?? tool,
    text: ((before?.text ?? "") + delta).slice(0, MOST_CHARACTERS),
  };
  const parts = before === undefined ? [...known, next] : known.with(index, next);
  return { step, turn, attempt, parts };
}
