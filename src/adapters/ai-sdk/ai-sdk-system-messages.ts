import { joinedMessages } from "../../core/message.ts";
import type { ModelName } from "../../core/usage/token-family.ts";
import type { RequestMessage } from "../../engine/ports/model-port.ts";

/**
 * Models known to accept a system message between other messages. All others get it as user text: a request that is refused
 * for it would be refused on every resume. OpenAI-compatible servers get it as text too, since the chat templates of many
 * models refuse it ("System message must be at the beginning").
 */
const TAKERS: readonly { readonly provider: RegExp; readonly modelId: RegExp }[] = [
  // Their completion models throw.
  { provider: /^(openai|azure)\.(chat|responses)$/, modelId: /./ },
  // From Opus 4.8 on, after a user message and before an answer; the others answer 400.
  { provider: /^anthropic\.messages$/, modelId: /^claude-(opus-4-8|(opus|sonnet)-5-5|fable-5-[12])/ },
  // Pawl's own model for tests accepts everything.
  { provider: /^scripted$/, modelId: /./ },
];

/** Without instructions, Anthropic's provider would use the first system message as the instructions, wherever it is. */
export function takesSystemMessages(model: ModelName, instructions: string): boolean {
  if (instructions === "" && model.provider.startsWith("anthropic")) return false;
  return TAKERS.some(({ provider, modelId }) => provider.test(model.provider) && modelId.test(model.modelId));
}

/**
 * The conversation without system messages: each one is appended to the user message before it. A separate message there
 * would be the second user message in a row, which chat templates that require alternating roles refuse.
 */
export function withoutSystemMessages(messages: readonly RequestMessage[]): readonly RequestMessage[] {
  const sent: RequestMessage[] = [];
  for (const message of messages) {
    const before = sent.at(-1);
    if (message.role !== "system") sent.push(message);
    else if (before?.role !== "user") sent.push({ role: "user", content: message.content });
    else sent[sent.length - 1] = joinedMessages(before, message);
  }
  return sent;
}
