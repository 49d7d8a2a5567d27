// Models that write their answers piece by piece, with a point before and after each piece.

import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { aiSdkModel } from "../../../../src/adapters/ai-sdk/ai-sdk.ts";
import { isTextPart, isToolCallPart, textOf } from "../../../../src/core/message.ts";
import type { LiveListener } from "../../../../src/core/turn/live-part.ts";
import type { ModelPort, ModelRequest } from "../../../../src/engine/ports/model-port.ts";
import type { ModelStandIn, ModelStandInContext } from "../../../../src/testing/crash/scenario.ts";
import { type ScriptedResponse, scriptedModel } from "../../../../src/testing/scripted-model.ts";

/** Longer than pieces wait to be written, so that a viewer can see each of them. */
const BETWEEN_PIECES_MS = 60;

/** Says this text word by word, as part of an answer. */
export async function say(
  text: string,
  { signal }: Partial<Pick<ModelRequest, "signal">>,
  outside: ModelStandInContext,
  live: LiveListener | undefined,
  part = 0,
): Promise<void> {
  for (const delta of wordsOf(text)) {
    await outside.piece(() => live?.({ part, kind: "text", delta }));
    await outside.take(BETWEEN_PIECES_MS, signal);
  }
}

/** The answers of this model, in pieces. One that `isDeaf` writes on, also if it was told to stop. */
export function streamed(port: ModelPort, { isDeaf = false } = {}): ModelStandIn {
  return async (asked, _place, outside, live) => {
    const response = await port.respond(asked);
    const request = isDeaf ? {} : asked;
    for (const [part, each] of response.content.entries()) {
      if (isTextPart(each)) await say(each.text, request, outside, live, part);
      if (!isToolCallPart(each)) continue;
      const { toolName: tool, toolCallId, input } = each;
      const delta = JSON.stringify(input);
      await outside.piece(() => live?.({ part, kind: "tool_input", tool, toolCallId, delta, end: true }));
    }
    outside.finish(textOf(response.content));
    return response;
  };
}

/** How a stream of a provider ends: with its own end, in the middle, or with an error in the middle. */
type StreamEnd = "finished" | "cut" | "error";

export type ProviderStream = { readonly response: ScriptedResponse; readonly end: StreamEnd };

/** A provider whose streams are read by the adapter of the AI SDK, by turn and attempt. */
export function providerStreams(streamOf: (turn: number, attempt: number) => ProviderStream): ModelStandIn {
  return (request, { turnIndex, attempt }, outside, live) => {
    const { response, end } = streamOf(turnIndex, attempt);
    const model = scriptedModel(() => response);
    const paced = {
      ...model,
      doStream: async (...given: Parameters<LanguageModelV4["doStream"]>) => {
        const { stream } = await model.doStream(...given);
        return { stream: pacedStream(stream, end, response.text ?? "", { request, outside }) };
      },
    } satisfies LanguageModelV4;
    // Also if nobody watches: what is stored must not depend on that.
    return aiSdkModel(paced).respond(request, live ?? (() => undefined));
  };
}

/** One part at a time. */
function pacedStream(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  end: StreamEnd,
  text: string,
  { request, outside }: { readonly request: ModelRequest; readonly outside: ModelStandInContext },
): ReadableStream<LanguageModelV4StreamPart> {
  const reader = stream.getReader();
  return new ReadableStream(
    {
      async pull(controller) {
        const { value: part } = await reader.read();
        if (part === undefined) return controller.close();
        if (part.type === "finish" && end === "cut") return controller.close();
        if (part.type === "finish" && end === "error")
          return controller.enqueue({ type: "error", error: new Error("The provider broke.") });
        if (part.type === "finish") outside.finish(text);
        await outside.piece(() => controller.enqueue(part));
        if (part.type === "text-delta") await outside.take(BETWEEN_PIECES_MS, request.signal);
      },
    },
    { highWaterMark: 0 },
  );
}

function wordsOf(text: string): readonly string[] {
  return text.match(/\s*\S+/g) ?? [];
}
