// A model that writes its answers piece by piece, as a test says.

import type { AssistantPart } from "../../../src/core/message.ts";
import type { LiveListener, LivePart } from "../../../src/core/turn/live-part.ts";
import type { ModelPort, ModelRequest, ModelResponse } from "../../../src/engine/ports/model-port.ts";

/** One answer: what it says before it is whole, and then the response. */
export type StreamedAnswer = (
  say: LiveListener,
  request: ModelRequest,
) => Promise<ModelResponse> | ModelResponse;

/** A model with one answer for each request, in order. The last one is repeated. */
export function streamingPort(...answers: readonly StreamedAnswer[]): ModelPort & { readonly asked: number } {
  let asked = 0;
  return {
    provider: "test",
    modelId: "streaming",
    streams: true,
    get asked() {
      return asked;
    },
    respond: async (request, live) => {
      asked += 1;
      const answer = answers[Math.min(asked, answers.length) - 1];
      if (answer === undefined) throw new Error("There is no answer.");
      return answer(live ?? (() => undefined), request);
    },
  };
}

export const text = (delta: string, over: Partial<LivePart> = {}): LivePart => ({
  part: 0,
  kind: "text",
  delta,
  ...over,
});

export function response(
  content: string | readonly AssistantPart[],
  over: Partial<ModelResponse> = {},
): ModelResponse {
  return {
    content: typeof content === "string" ? [{ type: "text", text: content }] : content,
    finishReason: "stop",
    usage: { inputTokens: 10, outputTokens: 5, cachedInputTokens: 0, reasoningTokens: 0 },
    invalidCalls: {},
    responseId: null,
    ...over,
  };
}

/** Says the words one by one, and then answers with all of them. */
export function typed(...words: readonly string[]): StreamedAnswer {
  return async (say) => {
    for (const word of words) {
      say(text(word));
      await new Promise((resolve) => setImmediate(resolve));
    }
    return response(words.join(""));
  };
}
