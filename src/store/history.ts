import { canonicalJson } from "../core/canonical-json.ts";
import type { Json } from "../core/json.ts";
import { type Message, toolCallsOf } from "../core/message.ts";
import type { TurnRecord } from "./store.ts";

/** The head of every history: the system prompt and the first user message. */
export function headMessages(prompt: string, input: Json): Message[] {
  const user: Message = { role: "user", content: typeof input === "string" ? input : canonicalJson(input) };
  return prompt === "" ? [user] : [{ role: "system", content: prompt }, user];
}

/** The messages of one turn, made from its rows: the response, a result for each call, and what was said after it. */
export function turnMessages(turn: TurnRecord): Message[] {
  const parts = toolCallsOf(turn.response.content);
  const messages: Message[] = [{ role: "assistant", content: turn.response.content }];
  for (const call of turn.calls) {
    const part = parts[call.callIndex - 1];
    if (part === undefined || call.receipt === null) continue;
    const { toolCallId, toolName } = part;
    messages.push({
      role: "tool",
      content: [{ type: "tool-result", toolCallId, toolName, output: call.receipt.output }],
    });
  }
  if (turn.followUp !== null) messages.push({ role: "user", content: turn.followUp });
  return messages;
}
