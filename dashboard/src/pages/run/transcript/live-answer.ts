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
export type WatchedEvent =
  | ({ readonly type: "part" } & LivePiece)
  | {
      readonly type: "attempt.withdrawn";
      readonly step: string;
      readonly turn: number;
      readonly attempt: number;
    }
  | { readonly type: "turn.journaled" | "turn.dropped"; readonly step: string; readonly turn: number }
  | { readonly type: "run.claimed" | "run.ended" | "run.waiting" };

/** A page shows no more of one part: the whole answer is in the transcript when it is journaled. */
const MOST_CHARACTERS = 100_000;

/** The answer after an event. A piece of another attempt begins another answer; a withdrawn attempt leaves nothing. */
export function liveAnswerAfter(answer: LiveAnswer | null, event: WatchedEvent): LiveAnswer | null {
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
