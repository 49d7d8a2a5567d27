import type { UIMessageChunk } from "ai";
import type { WatchEvent } from "../../../engine/watch/watch-event.ts";
import { type UIChunkOptions, UIChunks } from "./ui-chunks.ts";

/**
 * What a viewer of a run sees, as a stream of the AI SDK's UI message chunks: for `createUIMessageStreamResponse`, or for a
 * transport of your own. It is one message: that of the run, or of one exchange of a conversation. It ends with `finish`,
 * `error` or `abort`, and errors if the watching does. Cancelling the stream ends the watching, and nothing else.
 *
 * @example
 * const stream = toUIMessageStream(new Runner(clerk, { store }).watch("q-1"));
 */
export function toUIMessageStream(
  events: AsyncIterable<WatchEvent>,
  options: UIChunkOptions = {},
): ReadableStream<UIMessageChunk> {
  const iterator = events[Symbol.asyncIterator]();
  const chunks = new UIChunks(options);
  const leave = async () => {
    await iterator.return?.();
  };
  return new ReadableStream({
    pull: async (controller) => {
      for (;;) {
        const next = await iterator.next();
        const applied = next.done === true ? chunks.end() : chunks.apply(next.value);
        const made = chunks.takeQuestion() ? [...applied, ...chunks.waitForUser()] : applied;
        for (const chunk of made) controller.enqueue(chunk);
        if (chunks.isOver) {
          controller.close();
          return leave();
        }
        // A page takes a stream that ends for a whole answer: one that is not finished must break.
        if (next.done === true) throw new Error("The watching ended before the answer did.");
        if (made.length > 0) return;
      }
    },
    cancel: leave,
  });
}
