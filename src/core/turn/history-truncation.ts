import type { Message, SystemMessage } from "../message.ts";

/** Messages that are kept or dropped together: a response and the results of its calls. */
export type MessageGroup = {
  readonly messages: readonly Message[];
  readonly tokens: number;
  /** The same messages with shortened results, as close to `maxTokens` as possible. */
  readonly within?: (maxTokens: number) => MessageGroup;
};

export function truncationPlaceholder(omittedMessages: number): SystemMessage {
  return { role: "system", content: `... [Context Truncated: ${omittedMessages} messages omitted] ...` };
}

/** The cost of the placeholder. Fixed, so that the cut does not depend on the digits of its number. */
export const PLACEHOLDER_TOKENS = 24;

/** Groups older than the loaded ones: they are counted, not read. */
export type EarlierMessages = { readonly messages: number; readonly tokens: number };

const NONE: EarlierMessages = { messages: 0, tokens: 0 };

/**
 * Keeps the head and the longest tail that fits. The newest group always stays, with shortened results if it alone is over
 * the limit: an agent that does not see its latest results would request them again.
 */
export function truncateMiddleOut(
  head: MessageGroup,
  tail: readonly MessageGroup[],
  maxTokens: number,
  earlier: EarlierMessages = NONE,
): MessageGroup {
  const first = firstKept(head, tail, maxTokens, earlier);
  const omitted = tail.slice(0, first).reduce((sum, group) => sum + group.messages.length, earlier.messages);
  const marked: MessageGroup =
    omitted === 0
      ? head
      : {
          messages: [...head.messages, truncationPlaceholder(omitted)],
          tokens: head.tokens + PLACEHOLDER_TOKENS,
        };
  const kept = tail.slice(first);
  const [only] = kept;
  const room = maxTokens - marked.tokens;
  const shown =
    kept.length === 1 && only?.within !== undefined && only.tokens > room ? [only.within(room)] : kept;
  return {
    messages: [marked, ...shown].flatMap(({ messages }) => messages),
    tokens: shown.reduce((sum, { tokens }) => sum + tokens, marked.tokens),
  };
}

/** The index of the first group that fits. If any group is dropped, the placeholder needs room, too. */
export function firstKept(
  head: { readonly tokens: number },
  tail: readonly { readonly tokens: number }[],
  maxTokens: number,
  earlier: EarlierMessages = NONE,
): number {
  const total = tail.reduce((sum, group) => sum + group.tokens, head.tokens + earlier.tokens);
  if (total <= maxTokens) return 0;
  let room = maxTokens - head.tokens - PLACEHOLDER_TOKENS;
  let first = tail.length;
  while (first > 0) {
    room -= tail[first - 1]?.tokens ?? 0;
    if (room < 0 && first < tail.length) break;
    first--;
  }
  return first;
}
