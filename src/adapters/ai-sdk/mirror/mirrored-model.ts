import type { LanguageModelV4, LanguageModelV4Content, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { type StepMeans, stepParts, streamedStep } from "./mirrored-step.ts";

/** A model that is a run: each request to it is answered with the next turn. What it is asked has no part in that. */
export function mirroredModel(means: StepMeans): LanguageModelV4 {
  const { provider, modelId } = means.run.target.agent.model;
  return {
    specificationVersion: "v4",
    provider,
    modelId,
    // Nothing is sent, so nothing needs to be downloaded first.
    supportedUrls: { "*/*": [/.*/] },
    doGenerate: async () => {
      const content: LanguageModelV4Content[] = [];
      for await (const part of stepParts({ ...means, showsLive: false })) {
        if (part.is === "content") content.push(part.content);
        if (part.is !== "finish") continue;
        const { finishReason, usage } = part.finish;
        return { content, finishReason, usage, warnings: [] };
      }
      throw new Error("A step of a run has no end.");
    },
    doStream: async () => ({ stream: streamOf(streamedStep(means), means.onOver) }),
  };
}

/**
 * The parts as a stream. An error is a part first, since viewers expect one, and then the stream's own: otherwise the SDK
 * would resolve `text` and `output` with what came before it.
 */
function streamOf(
  parts: AsyncGenerator<LanguageModelV4StreamPart>,
  onLeave: () => void,
): ReadableStream<LanguageModelV4StreamPart> {
  let failure: { readonly error: unknown } | null = null;
  return new ReadableStream<LanguageModelV4StreamPart>(
    {
      pull: async (controller) => {
        if (failure !== null) return controller.error(failure.error);
        try {
          const next = await parts.next();
          if (next.done === true) controller.close();
          else controller.enqueue(next.value);
        } catch (error) {
          failure = { error };
          controller.enqueue({ type: "error", error });
        }
      },
      cancel: async () => {
        onLeave();
        await parts.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}
