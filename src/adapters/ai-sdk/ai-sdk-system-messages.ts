import type { Message } from "../../core/message.ts";
import type { ModelName } from "../../core/usage/token-family.ts";

/**
 * Models that take a system message between others, as far as it is known. All others are sent it as text: a request that
 * is refused for it would be refused on every resume. Servers that are compatible with OpenAI are among those, since the
 * chat templates of many models refuse it ("System message must be at the beginning").
 */
const TAKERS: readonly { readonly provider: RegExp; readonly modelId: RegExp }[] = [
  // Their completion models throw.
  { provider: /^(openai|azure)\.(chat|responses)$/, modelId: /./ },
  // From Opus 4.8 on, after a user's message and before an answer; the others answer 400.
  { provider: /^anthropic\.messages$/, modelId: /^claude-(opus-4-8|(opus|sonnet)-5-5|fable-5-[12])/ },
  // Pawl's own model for tests takes what it is given.
  { provider: /^scripted$/, modelId: /./ },
];

/** Without instructions, Anthropic's provider would make the first system message the instructions, wherever it stands. */
export function takesSystemMessages(model: ModelName, instructions: string): boolean {
  if (instructions === "" && model.provider.startsWith("anthropic")) return false;
  return TAKERS.some(({ provider, modelId }) => provider.test(model.provider) && modelId.test(model.modelId));
}

/**
 * The conversation without system messages: each is a text at the end of the user's message before it, at the same place
 * and before the next user's message. A message of its own there would be the second of the user in a row, which chat
 * templates that want the roles to alternate refuse.
 */
export function withoutSystemMessages(messages: readonly Message[]): readonly Message[] {
  const sent: Message[] = [];
  for (const message of messages) {
    const before = sent.at(-1);
    if (message.role !== "system") sent.push(message);
    else if (before?.role !== "user") sent.push({ role: "user", content: message.content });
    else sent[sent.length - 1] = { role: "user", content: `${before.content}\n\n${message.content}` };
  }
  return sent;
}
