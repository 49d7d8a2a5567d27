/**
 * A piece of an answer while the model writes it. Hearsay: it is shown to people and never stored with the run, hashed or
 * sent back to a model. What counts is the response that is journaled when the answer is whole.
 */
export type LivePart = {
  /** The number of the part in its answer, from 0: a text, a block of reasoning, the arguments of a tool call. */
  readonly part: number;
  readonly kind: "text" | "reasoning" | "tool_input";
  /** The tool whose arguments these are. */
  readonly tool?: string;
  /** The provider's id of that call. */
  readonly toolCallId?: string;
  /** The text to add. */
  readonly delta: string;
  /** The part is whole. */
  readonly end?: true;
};

/** Receives the pieces of an answer, in order. It never throws and is never waited for. */
export type LiveListener = (part: LivePart) => void;

/** Adds a piece to a list; one that continues the last piece becomes part of it. */
export function appendPart(parts: LivePart[], part: LivePart): void {
  const last = parts.at(-1);
  const continues =
    last !== undefined && last.part === part.part && last.kind === part.kind && last.end !== true;
  if (continues)
    parts[parts.length - 1] = {
      ...part,
      ...last,
      delta: last.delta + part.delta,
      ...(part.end === true ? { end: true } : {}),
    };
  else parts.push(part);
}
