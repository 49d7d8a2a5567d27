import { canonicalJson } from "../core/canonical-json.ts";
import type { Json } from "../core/json.ts";
import { type Message, type ToolOutput, toolCallsOf } from "../core/message.ts";
import type { StoredResponse } from "./store.ts";

/** The head of every history: the system prompt and the first user message. */
export function headMessages(prompt: string, input: Json): Message[] {
  const user: Message = { role: "user", content: typeof input === "string" ? input : canonicalJson(input) };
  return prompt === "" ? [user] : [{ role: "system", content: prompt }, user];
}

/** The parts of a turn's messages: its response, and the outputs of its calls, in call order. */
export type TurnParts = {
  readonly response: StoredResponse;
  readonly outputs: readonly (ToolOutput | null)[];
  readonly followUp: string | null;
};

/** The messages of one turn: the response, a result for each call that has one, and the follow-up. */
export function turnMessages({ response, outputs, followUp }: TurnParts): Message[] {
  const messages: Message[] = [{ role: "assistant", content: response.content }];
  toolCallsOf(response.content).forEach(({ toolCallId, toolName }, i) => {
    const output = outputs[i] ?? null;
    if (output !== null)
      messages.push({ role: "tool", content: [{ type: "tool-result", toolCallId, toolName, output }] });
  });
  if (followUp !== null) messages.push({ role: "user", content: followUp });
  return messages;
}
