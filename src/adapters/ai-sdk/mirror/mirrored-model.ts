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
    doStream: async () => ({ stream: streamOf(streamedStep(means), means) }),
  };
}

/**
 * The parts as a stream. An error is a part first, since viewers expect one. If it is the end of the run, the stream ends
 * after it, as it does with the SDK's own agents. Any other error is the stream's own as well: it breaks, which means that
 * the answer is not finished, and the same call again may show it.
 */
function streamOf(
  parts: AsyncGenerator<LanguageModelV4StreamPart>,
  { run, onOver }: StepMeans,
): ReadableStream<LanguageModelV4StreamPart> {
  let failure: { readonly error: unknown; readonly isEnd: boolean } | null = null;
  return new ReadableStream<LanguageModelV4StreamPart>(
    {
      pull: async (controller) => {
        if (failure !== null) return failure.isEnd ? controller.close() : controller.error(failure.error);
        try {
          const next = await parts.next();
          if (next.done === true) controller.close();
          else controller.enqueue(next.value);
        } catch (error) {
          failure = { error, isEnd: run.isEnd(error) && markAsNoOutput(error) };
          controller.enqueue({ type: "error", error });
        }
      },
      cancel: async () => {
        onOver();
        await parts.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}

/** By this the SDK recognises its `NoOutputGeneratedError`, across versions and copies of its package. */
const NO_OUTPUT = Symbol.for("vercel.ai.error.AI_NoOutputGeneratedError");

/**
 * Marks an error as one that leaves no output: otherwise the SDK would resolve `text` and `output` with what came before it
 * if the stream ends. A new error of the SDK's class would hide the one that `generate` throws.
 */
function markAsNoOutput(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return Reflect.defineProperty(error, NO_OUTPUT, { value: true });
}
