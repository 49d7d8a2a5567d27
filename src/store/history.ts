import { canonicalJson } from "../core/canonical-json.ts";
import type { Json } from "../core/json.ts";
import { isFileReference, type Message, storedParts, type ToolOutput, toolCallsOf } from "../core/message.ts";
import { summaryMessage } from "../core/turn/history-summary.ts";
import { leftOut, REFUSED_MESSAGE } from "../core/usage/said-file.ts";
import type { StoredResponse, TakenMessage } from "./store.ts";

/** What the first messages of a history depend on, beside the prompt and the input. */
export type HistoryBeginning = {
  readonly isConversation: boolean;
  /** The summary of the conversation before, in place of the input; null if there is none. */
  readonly summary: string | null;
  /** The provider refused the input of a conversation before any turn had answered it. */
  readonly isInputRefused: boolean;
};

/** The head of every history: the system prompt and the first user message. A conversation may begin without an input. */
export function headMessages(
  prompt: string,
  input: Json,
  { isConversation, summary, isInputRefused }: HistoryBeginning,
): Message[] {
  const system: Message[] = prompt === "" ? [] : [{ role: "system", content: prompt }];
  if (summary !== null) return [...system, summaryMessage(summary)];
  if (isConversation && input === null) return system;
  if (isInputRefused) return [...system, { role: "user", content: REFUSED_MESSAGE }];
  return [...system, { role: "user", content: typeof input === "string" ? input : canonicalJson(input) }];
}

/**
 * A message of a user, as the model sees it: its files are references to their bytes. What a provider refused, shown again,
 * would end every later exchange, too.
 */
export function userMessage({ body, refused }: Pick<TakenMessage, "body" | "refused">): Message {
  if (refused === "texts") return { role: "user", content: REFUSED_MESSAGE };
  if (typeof body === "string") return { role: "user", content: body };
  const parts = storedParts(body);
  if (parts === null) return { role: "user", content: canonicalJson(body) };
  if (refused !== "files") return { role: "user", content: parts };
  return {
    role: "user",
    content: parts.map((part) => (isFileReference(part) ? leftOut(part, "refused") : part)),
  };
}

/** The parts of a turn's messages: its response, and the outputs of its calls, in call order. */
export type TurnParts = {
  readonly response: StoredResponse;
  readonly outputs: readonly (ToolOutput | null)[];
  readonly followUp: string | null;
  /** What a user said before it. */
  readonly taken: readonly Pick<TakenMessage, "body" | "refused">[];
};

/** The messages of one turn: what it took, the response, a result for each call that has one, and the follow-up. */
export function turnMessages({ response, outputs, followUp, taken }: TurnParts): Message[] {
  const messages = taken.map(userMessage);
  messages.push({ role: "assistant", content: response.content });
  toolCallsOf(response.content).forEach(({ toolCallId, toolName }, i) => {
    const output = outputs[i] ?? null;
    if (output !== null)
      messages.push({ role: "tool", content: [{ type: "tool-result", toolCallId, toolName, output }] });
  });
  if (followUp !== null) messages.push({ role: "user", content: followUp });
  return messages;
}
