import type { LanguageModelMiddleware } from "ai";
import { sha256Hex } from "../../core/canonical-json.ts";
import { isDeeper, type Json, MAX_PAYLOAD_DEPTH, upToDepth } from "../../core/json.ts";
import { excessIn } from "../../core/turn/answer-limits.ts";
import type { AiSdkSettings } from "./ai-sdk-settings.ts";

/** One call to the provider, as seen between the AI SDK and the provider. */
export type Exchange = {
  /** The provider was called. A failure before that means that nothing was sent. */
  began: boolean;
  /** The provider's own error: the SDK replaces some errors by its own. */
  failure: { readonly error: unknown } | null;
  /** The provider's own id. The SDK makes one up if there is none. */
  responseId: string | null;
  /** How the answer exceeds a limit, as the end of a sentence; the SDK then gets none of the answer. */
  excess: string | null;
  /** The id of the call whose arguments were cut off with the answer. */
  cutCallId: string | null;
};

type GenerateResult = Awaited<ReturnType<NonNullable<LanguageModelMiddleware["wrapGenerate"]>>>;
type GeneratedPart = GenerateResult["content"][number];

export function newExchange(): Exchange {
  return { began: false, failure: null, responseId: null, excess: null, cutCallId: null };
}

/**
 * Records the exchange and passes the signal and the tool choice to the provider. The SDK itself gets neither: it would
 * throw away an answer that has arrived, and is paid for, if the abort comes a moment later or the model chose another tool.
 */
export function exchangeMiddleware(
  exchange: Exchange,
  signal: AbortSignal,
  toolChoice: AiSdkSettings["toolChoice"],
): LanguageModelMiddleware {
  const chosen = typeof toolChoice === "string" ? { type: toolChoice } : toolChoice;
  return {
    specificationVersion: "v4",
    transformParams: async ({ params }) => ({
      ...params,
      abortSignal: signal,
      // Providers refuse a tool choice without tools.
      ...(chosen === undefined || params.tools === undefined ? {} : { toolChoice: chosen }),
    }),
    wrapGenerate: async ({ doGenerate }) => {
      signal.throwIfAborted();
      exchange.began = true;
      try {
        const answer = await unlessAborted(doGenerate(), signal);
        exchange.responseId = answer.response?.id ?? null;
        exchange.excess = excessIn(answer.content);
        if (exchange.excess !== null) return { ...answer, content: [] };
        const content = withUniqueCallIds(answer.content);
        if (answer.finishReason.unified === "length") exchange.cutCallId = cutCallOf(content);
        return { ...answer, content };
      } catch (error) {
        exchange.failure = { error };
        throw error;
      }
    },
  };
}

/** The last call of a cut-off answer, if its arguments are incomplete. The SDK would treat missing arguments as none and run it. */
function cutCallOf(content: readonly GeneratedPart[]): string | null {
  const last = content.at(-1);
  if (last?.type !== "tool-call" || last.providerExecuted === true) return null;
  try {
    JSON.parse(last.input);
    return null;
  } catch {
    return last.toolCallId;
  }
}

/** Enforces the engine's timeout even if a provider with its own transport ignores the signal. */
async function unlessAborted<T>(answer: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => {
    aborted.reject(signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason)));
  };
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([answer, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/**
 * Results are matched to calls by id, in the SDK too: of two calls with the same id it keeps the first one twice and
 * drops the second. So ids are made unique before the SDK sees the answer. A new id depends only on the answer. It has
 * nine letters and digits, since Mistral accepts no other ids and every other provider accepts these.
 */
function withUniqueCallIds(content: readonly GeneratedPart[]): GeneratedPart[] {
  const seen = new Set<string>();
  return content.map((part, index) => {
    if (part.type !== "tool-call") return part;
    let id = part.toolCallId;
    // The id of a provider-executed call stays: its result refers to it.
    for (let n = 0; part.providerExecuted !== true && (id === "" || seen.has(id)); n++) {
      id = sha256Hex(JSON.stringify([part.toolCallId, part.toolName, index, n])).slice(0, 9);
    }
    seen.add(id);
    // Some servers leave out empty arguments altogether.
    return { ...part, toolCallId: id, input: shallowText(part.input ?? "") };
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
