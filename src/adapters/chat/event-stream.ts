import type { UIMessageChunk } from "ai";

/**
 * The chunks of a stream of server-sent events, and `done` if the server has said that it is over. Rejects if the server is
 * silent for so long that the connection must be dead: it says every few seconds that it lives.
 */
export async function* eventsIn(
  body: ReadableStream<Uint8Array>,
  { silentAfterMs, signal }: { readonly silentAfterMs: number; readonly signal: AbortSignal },
): AsyncGenerator<UIMessageChunk | "done", void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  const leave = () => void reader.cancel().catch(() => undefined);
  signal.addEventListener("abort", leave, { once: true });
  try {
    for (;;) {
      const { done, value } = await within(silentAfterMs, reader.read());
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split(/\r?\n/);
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const data = /^data: ?(.*)$/.exec(line)?.[1];
        if (data !== undefined) yield data === "[DONE]" ? "done" : (JSON.parse(data) as UIMessageChunk);
      }
    }
  } finally {
    signal.removeEventListener("abort", leave);
    leave();
  }
}

/** Rejects if the promise takes longer. */
export async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new TypeError("network error: the server is silent")), ms);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
