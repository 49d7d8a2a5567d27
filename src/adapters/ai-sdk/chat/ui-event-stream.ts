import type { UIMessageChunk } from "ai";
import { eventStreamResponse } from "../../net/event-stream-response.ts";
import { ChatProblem } from "./chat-problem.ts";

const HEADERS = { "x-vercel-ai-ui-message-stream": "v1" };

/** A response that streams chunks to `useChat`. `left` is called once the page has gone, or the stream is over. */
export function uiEventStream(
  chunks: AsyncGenerator<UIMessageChunk, void, undefined>,
  left: () => void,
): Response {
  return eventStreamResponse(eventsOf(chunks), { left, headers: HEADERS });
}

async function* eventsOf(
  chunks: AsyncGenerator<UIMessageChunk, void, undefined>,
): AsyncGenerator<string, void, undefined> {
  try {
    for await (const chunk of chunks) yield eventOf(JSON.stringify(chunk));
  } catch (error) {
    // What is wrong with the request shows only now, and is final.
    if (!(error instanceof ChatProblem)) throw error;
    const chunk: UIMessageChunk = { type: "error", errorText: error.message };
    yield eventOf(JSON.stringify(chunk));
  }
  yield eventOf("[DONE]");
}

function eventOf(data: string): string {
  return `data: ${data}\n\n`;
}
