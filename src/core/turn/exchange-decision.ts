/** The state of a conversation, as its mailbox has it. */
export type ConversationState = {
  /** The newest exchange; null before the first. */
  readonly exchange: {
    readonly firstTurn: number;
    readonly isOpen: boolean;
    readonly isStopped: boolean;
  } | null;
  /** The number of committed turns. */
  readonly committed: number;
  /** The turn after them has a response. */
  readonly isJournaled: boolean;
  /** The last of them ended its exchange, or there is none. */
  readonly isComplete: boolean;
  readonly maxTurns: number;
  /** The step was given an input, which is the first thing that was said. */
  readonly hasInput: boolean;
  /** A text waits for a turn. */
  readonly hasText: boolean;
  /** The history is to be compacted before it continues. */
  readonly isTooLong: boolean;
  /** Nobody has written for so long that the conversation is over. */
  readonly isClosed: boolean;
};

export type ConversationMove =
  /** Load the history again: since it was loaded, another worker has taken the run, and begun an exchange. */
  | { readonly kind: "reload" }
  /** Complete the turn whose response is journaled: with an exchange that is to stop, without the calls that wait. */
  | { readonly kind: "replay"; readonly isStopped: boolean }
  /** The next turn of the open exchange. */
  | { readonly kind: "turn" }
  /** The first turn of an exchange, about the first text that waits; about the input, if `with` is that. */
  | { readonly kind: "begin"; readonly with: "input" | "text" }
  /** A summary takes the place of the history; an exchange begins after that. */
  | { readonly kind: "compact" }
  | { readonly kind: "end"; readonly outcome: "stopped" | "max_turns" }
  /** Nothing to do until somebody writes. */
  | { readonly kind: "wait" }
  | { readonly kind: "close" };

/** Decides what a conversation does next. */
export function decideConversation(state: ConversationState): ConversationMove {
  const { exchange, committed, isJournaled, isComplete, maxTurns } = state;
  const { hasInput, hasText, isTooLong, isClosed } = state;
  if (exchange?.isOpen === true) {
    if (isComplete) return { kind: "reload" };
    if (isJournaled) return { kind: "replay", isStopped: exchange.isStopped };
    if (exchange.isStopped) return { kind: "end", outcome: "stopped" };
    const turns = Math.max(0, committed - exchange.firstTurn + 1);
    return turns >= maxTurns ? { kind: "end", outcome: "max_turns" } : { kind: "turn" };
  }
  if (exchange === null && hasInput) return { kind: "begin", with: "input" };
  if (hasText) return isTooLong ? { kind: "compact" } : { kind: "begin", with: "text" };
  return { kind: isClosed ? "close" : "wait" };
}

/** Why a changed agent is accepted by itself, as it is recorded. */
export const BETWEEN_EXCHANGES = "The agent was changed between two exchanges of its conversation.";
