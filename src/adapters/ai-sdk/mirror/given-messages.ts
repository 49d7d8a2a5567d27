import type { ModelMessage } from "ai";
import { ConfigurationError } from "../../../core/errors.ts";

/** A text of a person, and where it was in the messages of the call. */
type GivenText = { readonly text: string; readonly at: number };

/** A tool call in an earlier answer, as the caller has it. */
export type GivenCall = {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
  readonly at: number;
};

/** A person's decision about a call that an earlier answer asked for. */
export type GivenDecision = GivenCall & { readonly approved: boolean; readonly reason: string | null };

/** The messages of a call, in the words of a run. */
export type GivenMessages = {
  /** The texts of people, in order. Those from `newFrom` on follow the last answer. */
  readonly texts: readonly GivenText[];
  readonly newFrom: number;
  /** The texts of earlier answers. */
  readonly answers: readonly GivenText[];
  readonly calls: readonly GivenCall[];
  /** The decisions in the last message. */
  readonly decisions: readonly GivenDecision[];
};

/** Reads `prompt` or `messages` of a call. */
export function readMessages(given: string | readonly ModelMessage[]): GivenMessages {
  const messages: readonly ModelMessage[] =
    typeof given === "string" ? [{ role: "user", content: given }] : given;
  const lastAnswer = messages.findLastIndex(({ role }) => role === "assistant");
  const texts = messages.flatMap((message, at) => userText(message, at));
  const calls = messages.flatMap(callsIn);
  return {
    texts,
    newFrom: texts.filter(({ at }) => at < lastAnswer).length,
    answers: messages.flatMap(answerText),
    calls,
    decisions: decisionsIn(messages, calls),
  };
}

function userText(message: ModelMessage, at: number): readonly GivenText[] {
  if (message.role === "system")
    throw new ConfigurationError(
      `Message ${at + 1} is a system message: the instructions are those of the agent, agent({ instructions }).`,
    );
  if (message.role !== "user") return [];
  if (typeof message.content === "string") return [{ text: message.content, at }];
  const texts = message.content.map((part) => {
    if (part.type === "text") return part.text;
    throw new ConfigurationError(
      `Message ${at + 1} has a part of type ${part.type}, and a message to a run is a text: put the file where a tool of the agent can read it, and name it in the text.`,
    );
  });
  return [{ text: texts.join("\n"), at }];
}

function answerText(message: ModelMessage, at: number): readonly GivenText[] {
  if (message.role !== "assistant") return [];
  if (typeof message.content === "string") return [{ text: message.content, at }];
  const text = message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
  return text === "" ? [] : [{ text, at }];
}

function callsIn(message: ModelMessage, at: number): readonly GivenCall[] {
  if (message.role !== "assistant" || typeof message.content === "string") return [];
  return message.content.flatMap((part) =>
    part.type === "tool-call"
      ? [{ toolCallId: part.toolCallId, toolName: part.toolName, input: part.input, at }]
      : [],
  );
}

/** As the SDK does, only the last message answers requests: in the middle of others it is history. */
function decisionsIn(
  messages: readonly ModelMessage[],
  calls: readonly GivenCall[],
): readonly GivenDecision[] {
  const last = messages.at(-1);
  if (last?.role !== "tool") return [];
  const asked = new Map(messages.flatMap(requestsIn));
  return last.content.flatMap((part) => {
    if (part.type !== "tool-approval-response") return [];
    const toolCallId = asked.get(part.approvalId);
    const call = calls.findLast((each) => each.toolCallId === toolCallId);
    if (call === undefined)
      throw new ConfigurationError(
        `The last message answers the approval ${JSON.stringify(part.approvalId)}, which no earlier message asks for: send the messages with the answer that asked for it.`,
      );
    return [{ ...call, approved: part.approved, reason: part.reason ?? null }];
  });
}

function requestsIn(message: ModelMessage): readonly (readonly [approvalId: string, toolCallId: string])[] {
  if (message.role !== "assistant" || typeof message.content === "string") return [];
  return message.content.flatMap((part) =>
    part.type === "tool-approval-request" ? [[part.approvalId, part.toolCallId] as const] : [],
  );
}
