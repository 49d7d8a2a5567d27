import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { MAX_ANSWER_CHARACTERS } from "../../core/turn/answer-limits.ts";
import type { LiveListener } from "../../core/turn/live-part.ts";
import type { ExchangeOptions, ProviderAnswer } from "./ai-sdk-provider-answer.ts";
import { StreamedContent } from "./ai-sdk-stream-content.ts";
import { errorBeforeAnswer, UnfinishedAnswerError, unfinishedProblem } from "./ai-sdk-stream-error.ts";
import { reasonOf, StreamWatch, unlessAborted } from "./ai-sdk-stream-watch.ts";

type Finish = Extract<LanguageModelV4StreamPart, { type: "finish" }>;
type Reader = ReadableStreamDefaultReader<LanguageModelV4StreamPart>;

/** Far more than any answer has. */
const MAX_PARTS = 10_000;

/**
 * An answer that is streamed. **It counts only with the provider's own end**: a stream that breaks off, that has an error in
 * it, or that ends without a reason is no answer, however much of it came. The AI SDK would resolve each of them.
 */
export async function readStream(
  model: LanguageModelV4,
  { call, signal, live, idleTimeoutMs }: ExchangeOptions & { readonly live: LiveListener },
): Promise<ProviderAnswer> {
  const watch = new StreamWatch(signal, idleTimeoutMs);
  try {
    const answered = Promise.resolve(model.doStream({ ...call, abortSignal: watch.signal }));
    // One that comes after an abort is closed, and not read.
    watch.signal.addEventListener("abort", () => {
      void answered.then(({ stream }) => stream.cancel()).catch(() => undefined);
    });
    const { stream } = await unlessAborted(answered, watch.signal);
    return await readParts(stream.getReader(), new StreamedContent(quietly(live)), watch);
  } finally {
    watch.end();
  }
}

async function readParts(
  reader: Reader,
  content: StreamedContent,
  watch: StreamWatch,
): Promise<ProviderAnswer> {
  // Ends a read that is waiting, whatever the source does: a provider may ignore its signal.
  const cancel = () => void reader.cancel(watch.signal.reason).catch(() => undefined);
  watch.signal.addEventListener("abort", cancel);
  const about: StreamFacts = { responseId: null, warnings: [] };
  try {
    for (;;) {
      const { done, value: part } = await reader.read();
      if (watch.signal.aborted) throw reasonOf(watch.signal);
      if (done) throw new UnfinishedAnswerError("the stream ended in the middle of the answer");
      watch.saw(part);
      if (part.type === "error") throw errorIn(part.error, content);
      if (part.type === "finish") return finished(part, content, about);
      noteFacts(part, about);
      content.add(part);
      const excess = excessOf(content);
      if (excess !== null) return { ...NO_FIGURES, ...about, content: [], excess };
    }
  } finally {
    watch.signal.removeEventListener("abort", cancel);
    // After the provider's own end there is nothing to read, and after an error nothing that counts.
    cancel();
  }
}

type StreamFacts = { responseId: string | null; warnings: ProviderAnswer["warnings"] };

function noteFacts(part: LanguageModelV4StreamPart, about: StreamFacts): void {
  if (part.type === "response-metadata") about.responseId = part.id ?? about.responseId;
  if (part.type === "stream-start") about.warnings = part.warnings;
}

function finished(
  { finishReason, usage }: Finish,
  content: StreamedContent,
  about: StreamFacts,
): ProviderAnswer {
  const problem = unfinishedProblem(finishReason);
  if (problem !== null) throw new UnfinishedAnswerError(problem);
  return { ...about, content: content.content, finishReason, usage, excess: null };
}

/** Before the first word an error may be the provider's refusal. After it, the words may be charged, so it is no answer. */
function errorIn(error: unknown, content: StreamedContent): unknown {
  if (!content.hasOutput) return errorBeforeAnswer(error);
  return new UnfinishedAnswerError("the provider reported an error in the middle of the answer", error);
}

const NO_FIGURES: Pick<ProviderAnswer, "finishReason" | "usage"> = {
  finishReason: { unified: "other", raw: undefined },
  usage: {
    inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: undefined, text: undefined, reasoning: undefined },
  },
};

/** A stream that does not end must not fill the memory. */
function excessOf({ characters, parts }: StreamedContent): string | null {
  if (characters > MAX_ANSWER_CHARACTERS)
    return `answered with more than ${MAX_ANSWER_CHARACTERS} characters, which is the limit of one answer`;
  return parts > MAX_PARTS
    ? `answered in more than ${MAX_PARTS} parts, which is the limit of one answer`
    : null;
}

/** What shows an answer must not be able to end it: after an error it is not called again. */
function quietly(live: LiveListener): LiveListener {
  let isBroken = false;
  return (part) => {
    if (isBroken) return;
    try {
      live(part);
    } catch {
      isBroken = true;
    }
  };
}
