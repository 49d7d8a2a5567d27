import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { MockLanguageModelV4 } from "ai/test";
import { aiSdkModel } from "../../../src/adapters/ai-sdk/ai-sdk.ts";
import type { LivePart } from "../../../src/core/turn/live-part.ts";
import type { ModelPort, ModelRequest, ModelResponse } from "../../../src/engine/ports/model-port.ts";
import { requestOf } from "./model-request.ts";

/** How a stream ends after its parts. */
type StreamEnd = "closed" | "open" | Error;

/** A stream of these parts. An open one ignores that it is cancelled, as a broken transport does. */
export function streamOf(
  parts: readonly LanguageModelV4StreamPart[],
  end: StreamEnd = "closed",
): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      if (end === "closed") controller.close();
    },
    pull(controller) {
      if (end instanceof Error) controller.error(end);
      return end === "open" ? new Promise(() => undefined) : undefined;
    },
    cancel: () => new Promise(() => undefined),
  });
}

/** A model that streams these parts. */
export function streaming(
  parts: readonly LanguageModelV4StreamPart[],
  end: StreamEnd = "closed",
): { readonly mock: MockLanguageModelV4; readonly port: ModelPort } {
  const mock = new MockLanguageModelV4({ doStream: async () => ({ stream: streamOf(parts, end) }) });
  return { mock, port: aiSdkModel(mock) };
}

export const figures = {
  inputTokens: { total: 10, noCache: 4, cacheRead: 6, cacheWrite: undefined },
  outputTokens: { total: 5, text: 3, reasoning: 2 },
};

type FinishReason = Extract<LanguageModelV4StreamPart, { type: "finish" }>["finishReason"];

/** The provider's own end; `raw` is its own word for the reason. */
export function finish(unified: FinishReason["unified"] = "stop", raw: string | null = unified) {
  return { type: "finish", finishReason: { unified, raw: raw ?? undefined }, usage: figures } as const;
}

/** A text in these pieces. */
export function text(...deltas: readonly string[]): LanguageModelV4StreamPart[] {
  return [
    { type: "text-start", id: "t" },
    ...deltas.map((delta) => ({ type: "text-delta", id: "t", delta }) as const),
    { type: "text-end", id: "t" },
  ];
}

/** A call whose arguments come in these pieces. */
export function call(
  id: string,
  toolName: string,
  ...deltas: readonly string[]
): LanguageModelV4StreamPart[] {
  return [
    { type: "tool-input-start", id, toolName },
    ...deltas.map((delta) => ({ type: "tool-input-delta", id, delta }) as const),
    { type: "tool-input-end", id },
    { type: "tool-call", toolCallId: id, toolName, input: deltas.join("") },
  ];
}

/** The response of a streamed request, and what was heard of it. */
export async function heard(
  port: ModelPort,
  given: Partial<ModelRequest> = {},
): Promise<{ readonly response: ModelResponse; readonly live: readonly LivePart[] }> {
  const live: LivePart[] = [];
  const response = await port.respond(requestOf(given), (part) => live.push(part));
  return { response, live };
}
