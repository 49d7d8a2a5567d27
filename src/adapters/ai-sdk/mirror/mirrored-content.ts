import type {
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from "@ai-sdk/provider";
import { isJsonObject, type Json } from "../../../core/json.ts";
import type { AssistantPart } from "../../../core/message.ts";
import type { Usage } from "../../../core/usage/usage.ts";

/** A part of a stored answer in the SDK's format for models; null if it has no such part. */
export function contentOf(part: AssistantPart, toolCallId: string): LanguageModelV4Content | null {
  const metadata = metadataOf(part);
  switch (part.type) {
    case "text":
    case "reasoning":
      return { type: part.type, text: stringIn(part.text), ...metadata };
    case "tool-call":
      return {
        type: "tool-call",
        toolCallId,
        toolName: stringIn(part.toolName),
        input: JSON.stringify(part.input ?? {}),
        ...(part.providerExecuted === true ? { providerExecuted: true } : {}),
        ...metadata,
      };
    case "tool-result":
      return {
        type: "tool-result",
        toolCallId,
        toolName: stringIn(part.toolName),
        ...resultOf(part.output),
        ...metadata,
      };
    case "file":
    case "reasoning-file":
      return fileOf(part, part.type);
    default:
      return null;
  }
}

/** A part of a stored answer is JSON, whose texts are where they belong. */
export function stringIn(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

function metadataOf({ providerOptions }: AssistantPart): { providerMetadata?: SharedV4ProviderMetadata } {
  return isJsonObject(providerOptions ?? null)
    ? { providerMetadata: providerOptions as SharedV4ProviderMetadata }
    : {};
}

/** The result of a call that the provider ran. */
function resultOf(output: Json | undefined): { result: NonNullable<Json>; isError?: boolean } {
  if (!isJsonObject(output ?? null)) return { result: "" };
  const { type, value = null } = output as { readonly type?: Json; readonly value?: Json };
  const isError = typeof type === "string" && type.startsWith("error-");
  return { result: value ?? "", ...(isError ? { isError } : {}) };
}

function fileOf(part: AssistantPart, type: "file" | "reasoning-file"): LanguageModelV4Content | null {
  const { data, mediaType } = part;
  if (typeof mediaType !== "string") return null;
  const metadata = metadataOf(part);
  if (typeof data === "string") return { type, mediaType, data: { type: "data", data }, ...metadata };
  if (!isJsonObject(data ?? null)) return null;
  const { type: kind, data: bytes, url } = data as { readonly [name: string]: Json };
  if (kind === "url" && typeof url === "string")
    return { type, mediaType, data: { type: "url", url: new URL(url) }, ...metadata };
  return typeof bytes === "string"
    ? { type, mediaType, data: { type: "data", data: bytes }, ...metadata }
    : null;
}

/** A part of an answer as a stream of the SDK has it. */
export function* streamPartsOf(
  content: LanguageModelV4Content,
  id: string,
): Generator<LanguageModelV4StreamPart> {
  if (content.type !== "text" && content.type !== "reasoning") {
    yield content;
    return;
  }
  const { type, text, providerMetadata } = content;
  const metadata = providerMetadata === undefined ? {} : { providerMetadata };
  yield { type: `${type}-start`, id, ...metadata };
  if (text !== "") yield { type: `${type}-delta`, id, delta: text };
  yield { type: `${type}-end`, id, ...metadata };
}

export function sdkUsage(usage: Usage): LanguageModelV4Usage {
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = usage;
  return {
    inputTokens: {
      total: inputTokens,
      noCache: inputTokens - cachedInputTokens,
      cacheRead: cachedInputTokens,
      cacheWrite: undefined,
    },
    outputTokens: { total: outputTokens, text: outputTokens - reasoningTokens, reasoning: reasoningTokens },
  };
}

const REASONS = ["stop", "length", "content-filter", "tool-calls", "error", "other"] as const;

/** With calls it is always `tool-calls`: by any other one but `stop`, the SDK would not ask for their results. */
export function sdkFinishReason(stored: string, hasCalls: boolean): LanguageModelV4FinishReason {
  const unified = hasCalls ? "tool-calls" : (REASONS.find((reason) => reason === stored) ?? "other");
  return { unified, raw: stored };
}
