import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
} from "@ai-sdk/provider";
import type { generateText, ModelMessage, ToolSet, TypedToolCall } from "ai";
import type { AiSdkPackage } from "./ai-sdk-package.ts";

/** Options of `generateText` that have no loop, no retries and no telemetry in them. */
export type SdkCallOptions = Omit<
  Parameters<typeof generateText>[0],
  "model" | "stopWhen" | "maxRetries" | "telemetry" | "prompt"
> & { readonly messages: NonNullable<Parameters<typeof generateText>[0]["messages"]> };

/** What the provider would have got, and what the SDK made of the answer. */
export type SdkCall = {
  readonly call: LanguageModelV4CallOptions;
  readonly result: {
    readonly responseMessages: readonly ModelMessage[];
    readonly toolCalls: readonly TypedToolCall<ToolSet>[];
  };
};

const NOTHING: LanguageModelV4GenerateResult = {
  content: [{ type: "text", text: "." }],
  finishReason: { unified: "stop", raw: "stop" },
  usage: {
    inputTokens: { total: 0, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 0, text: undefined, reasoning: undefined },
  },
  warnings: [],
};

/** An answer of a stand-in. */
export function answerOf(given: Partial<LanguageModelV4GenerateResult>): LanguageModelV4GenerateResult {
  return { ...NOTHING, ...given };
}

/**
 * What the AI SDK makes of a request, and of an answer to it: `generateText` with a model in place of `like` that sends
 * nothing and gives this answer. The conversions themselves are private to the SDK, or come without a promise of stability.
 */
export async function throughSdk(
  ai: AiSdkPackage,
  like: LanguageModelV4,
  options: SdkCallOptions,
  answer: LanguageModelV4GenerateResult = NOTHING,
): Promise<SdkCall> {
  const sent: LanguageModelV4CallOptions[] = [];
  const model: LanguageModelV4 = {
    specificationVersion: "v4",
    provider: like.provider,
    modelId: like.modelId,
    supportedUrls: like.supportedUrls,
    doGenerate: async (call) => {
      sent.push(call);
      return answer;
    },
    doStream: () => Promise.reject(new Error("A stand-in does not stream.")),
  };
  const result = await ai.generateText({
    ...options,
    model,
    stopWhen: ai.isStepCount(1),
    maxRetries: 0,
    telemetry: { isEnabled: false },
  });
  const [call] = sent;
  if (call === undefined) throw new Error("The AI SDK did not call its model.");
  return { call, result };
}
