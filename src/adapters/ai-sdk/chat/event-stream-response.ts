import type { UIMessageChunk } from "ai";
import { ChatProblem } from "./chat-problem.ts";

const HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-vercel-ai-ui-message-stream": "v1",
  // Proxies such as nginx would keep the words back.
  "x-accel-buffering": "no",
};

/** How often a silent stream says that it lives: proxies close connections that say nothing for a minute. */
const HEARTBEAT_MS = 15_000;

/**
 * A response that streams chunks. An error breaks the connection instead of ending the stream: a page takes a stream that
 * ends for a whole answer. `left` is called once the page has gone, or the stream is over.
 */
export function eventStreamResponse(
  chunks: AsyncGenerator<UIMessageChunk, void, undefined>,
  left: () => void,
): Response {
  const encoder = new TextEncoder();
  let heartbeat: NodeJS.Timeout | undefined;
  const over = () => {
    clearInterval(heartbeat);
    left();
  };
  const event = (data: string) => encoder.encode(`data: ${data}\n\n`);
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      // The headers reach the page at once, also if the answer begins later.
      controller.enqueue(encoder.encode(": pawl\n\n"));
      heartbeat = setInterval(() => controller.enqueue(encoder.encode(": pawl\n\n")), HEARTBEAT_MS);
      heartbeat.unref();
    },
    pull: async (controller) => {
      try {
        const next = await chunks.next();
        if (next.done !== true) {
          controller.enqueue(event(JSON.stringify(next.value)));
          return;
        }
      } catch (error) {
        over();
        // What is wrong with the request shows only now, and is final.
        if (!(error instanceof ChatProblem)) throw error;
        const chunk: UIMessageChunk = { type: "error", errorText: error.message };
        controller.enqueue(event(JSON.stringify(chunk)));
      }
      over();
      controller.enqueue(event("[DONE]"));
      controller.close();
    },
    cancel: () => {
      over();
      // One that is not waiting for the next chunk hears of it only here. It is not waited for: it may be at a slow read.
      void chunks.return().catch(() => undefined);
    },
  });
  return new Response(body, { headers: HEADERS });
}
