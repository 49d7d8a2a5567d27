import type { LanguageModelMiddleware } from "ai";
import { sha256Hex } from "../../core/canonical-json.ts";
import { isDeeper, type Json, MAX_PAYLOAD_DEPTH, upToDepth } from "../../core/json.ts";
import { excessIn } from "../../core/turn/answer-limits.ts";
import type { AiSdkSettings } from "./ai-sdk-settings.ts";

/** What one call of the provider came to, seen from between the AI SDK and the provider. */
export type Exchange = {
  /** The provider was called. What fails before that was certainly not sent. */
  began: boolean;
  /** What the provider threw, as it threw it: the SDK replaces some errors by its own. */
  failure: { readonly error: unknown } | null;
  /** The provider's own id. The SDK makes one up where there is none. */
  responseId: string | null;
  /** What is too much in the answer, as the end of a sentence; the SDK gets none of it then. */
  excess: string | null;
  /** The id of the call whose arguments end where the answer was cut off. */
  cutCallId: string | null;
};

type GenerateResult = Awaited<ReturnType<NonNullable<LanguageModelMiddleware["wrapGenerate"]>>>;
type AnswerPart = GenerateResult["content"][number];

export function newExchange(): Exchange {
  return { began: false, failure: null, responseId: null, excess: null, cutCallId: null };
}

/**
 * Records the exchange and hands the signal and the tool choice to the provider. The SDK itself gets neither: it would
 * throw away an answer that has arrived, and is paid for, when the abort comes a moment later, or when the model chose
 * otherwise.
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
      // A choice among no tools is one that providers refuse.
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

/** The SDK takes missing arguments for none, and would run the call. In an answer that was cut off they may be missing for that reason. */
function cutCallOf(content: readonly AnswerPart[]): string | null {
  const last = content.at(-1);
  if (last?.type !== "tool-call" || last.providerExecuted === true) return null;
  try {
    JSON.parse(last.input);
    return null;
  } catch {
    return last.toolCallId;
  }
}

/** A provider on a transport of its own may ignore the signal; the engine's timeout has to hold all the same. */
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
 * Results are matched to calls by id, and the SDK does so too: of two calls with the same id it keeps the first one
 * twice and drops the second. So this happens before the SDK sees the answer. The new id depends on nothing but
 * the answer. Nine letters and digits, since Mistral takes no other ids and nobody else minds.
 */
function withUniqueCallIds(content: readonly AnswerPart[]): AnswerPart[] {
  const seen = new Set<string>();
  return content.map((part, index) => {
    if (part.type !== "tool-call") return part;
    let id = part.toolCallId;
    // One of the provider's own stays as it is: its result refers to it.
    for (let n = 0; part.providerExecuted !== true && (id === "" || seen.has(id)); n++) {
      id = sha256Hex(JSON.stringify([part.toolCallId, part.toolName, index, n])).slice(0, 9);
    }
    seen.add(id);
    // Some servers leave the arguments out altogether where there are none.
    return { ...part, toolCallId: id, input: shallowText(part.input ?? "") };
  });
}

/**
 * Arguments that are nested too deep, cut: the SDK writes out what does not fit a schema, and runs out of stack. One level more
 * than is valid is left, by which the engine knows them.
 */
function shallowText(input: string): string {
  const levels = MAX_PAYLOAD_DEPTH + 1;
  // A level is two characters at least.
  if (input.length <= 2 * levels) return input;
  try {
    const value = JSON.parse(input) as Json;
    return isDeeper(value, levels) ? JSON.stringify(upToDepth(value, levels)) : input;
  } catch {
    return input;
  }
}
