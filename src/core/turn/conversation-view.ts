import { joinedMessages, type Message } from "../message.ts";
import type { MessageGroup } from "./history-truncation.ts";

// What a model sees of a conversation with people, in the order that providers take.

/** The groups with these messages behind the last one: their answer sees that group, too. */
export function withSaid(tail: readonly MessageGroup[], said: MessageGroup | null): readonly MessageGroup[] {
  if (said === null) return tail;
  const last = tail.at(-1);
  return last === undefined ? [said] : [...tail.slice(0, -1), joined(last, said)];
}

function joined(last: MessageGroup, said: MessageGroup): MessageGroup {
  const { within } = last;
  return {
    messages: [...last.messages, ...said.messages],
    tokens: last.tokens + said.tokens,
    ...(within === undefined
      ? {}
      : { within: (maxTokens: number) => joined(within(maxTokens - said.tokens), said) }),
  };
}

const LEFT_OUT: Message = { role: "user", content: "[The conversation before this was left out.]" };

/**
 * The messages with those of a user in a row as one, and with one of a user at first: some providers refuse any other order.
 * Several come in a row after an answer that was stopped or failed, or if more was said at once.
 */
export function inTurns(messages: readonly Message[]): readonly Message[] {
  const shown: Message[] = [];
  for (const message of messages) {
    const last = shown.at(-1);
    if (message.role === "user" && last?.role === "user")
      shown[shown.length - 1] = joinedMessages(last, message);
    else shown.push(message);
  }
  const first = shown.findIndex(({ role }) => role !== "system");
  return first === -1 || shown[first]?.role === "user" ? shown : shown.toSpliced(first, 0, LEFT_OUT);
}
