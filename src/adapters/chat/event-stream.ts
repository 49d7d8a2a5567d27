import type { UIMessageChunk } from "ai";

/** The chunks of a stream of server-sent events, and `done` if the server has said that it is over. */
export async function* eventsIn(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<UIMessageChunk | "done", void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split(/\r?\n/);
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const data = /^data: ?(.*)$/.exec(line)?.[1];
        if (data !== undefined) yield data === "[DONE]" ? "done" : (JSON.parse(data) as UIMessageChunk);
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
