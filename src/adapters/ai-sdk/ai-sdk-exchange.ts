// One call to the provider, and the shape that its answer is given before anything else reads it.

import type { LanguageModelV4, LanguageModelV4Content } from "@ai-sdk/provider";
import { isDeeper, type Json, MAX_PAYLOAD_DEPTH, upToDepth } from "../../core/json.ts";
import { excessIn } from "../../core/turn/answer-limits.ts";
import { makeCallIds } from "./ai-sdk-call-ids.ts";
import type { ExchangeOptions, ProviderAnswer } from "./ai-sdk-provider-answer.ts";
import { readStream } from "./ai-sdk-stream.ts";
import { unlessAborted } from "./ai-sdk-stream-watch.ts";

/** Asks the provider once. A stream counts as an answer only with the provider's own end. */
export async function exchange(model: LanguageModelV4, options: ExchangeOptions): Promise<ProviderAnswer> {
  const { live } = options;
  const answer =
    live === null || typeof model.doStream !== "function"
      ? await wholeAnswer(model, options)
      : await readStream(model, { ...options, live });
  const excess = answer.excess ?? excessIn(answer.content);
  if (excess !== null) return { ...answer, content: [], excess };
  return { ...answer, content: withUniqueCallIds(answer.content), excess };
}

async function wholeAnswer(
  model: LanguageModelV4,
  { call, signal }: ExchangeOptions,
): Promise<ProviderAnswer> {
  const answered = model.doGenerate({ ...call, abortSignal: signal });
  const { content, finishReason, usage, warnings, response } = await unlessAborted(answered, signal);
  return { content, finishReason, usage, warnings, responseId: response?.id ?? null, excess: null };
}

/** The last call of a cut-off answer, if its arguments are incomplete. The SDK would treat missing arguments as none and run it. */
export function cutCallOf({ content, finishReason }: ProviderAnswer): string | null {
  const last = content.at(-1);
  if (finishReason.unified !== "length" || last?.type !== "tool-call" || last.providerExecuted === true)
    return null;
  try {
    JSON.parse(last.input);
    return null;
  } catch {
    return last.toolCallId;
  }
}

function withUniqueCallIds(content: readonly LanguageModelV4Content[]): LanguageModelV4Content[] {
  const idOf = makeCallIds();
  return content.map((part, index) => {
    if (part.type !== "tool-call") return part;
    // Some servers leave out empty arguments altogether.
    return { ...part, toolCallId: idOf(part, index), input: shallowText(part.input ?? "") };
  });
}

/**
 * Cuts arguments that are nested too deep: the SDK prints those that do not fit a schema, and would overflow the stack. One
 * level more than is valid is kept, so that the engine still rejects them.
 */
function shallowText(input: string): string {
  const levels = MAX_PAYLOAD_DEPTH + 1;
  // A level has at least two characters.
  if (input.length <= 2 * levels) return input;
  try {
    const value = JSON.parse(input) as Json;
    return isDeeper(value, levels) ? JSON.stringify(upToDepth(value, levels)) : input;
  } catch {
    return input;
  }
}
