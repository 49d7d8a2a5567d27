const HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  // Proxies such as nginx would keep the words back.
  "x-accel-buffering": "no",
};

/** A comment: readers skip it. */
const PING = ": ping\n\n";

/** How often a silent stream says that it lives: proxies close connections that say nothing for a minute. */
const HEARTBEAT_MS = 15_000;

export type EventStreamOptions = {
  /** Called once the reader has gone, or the stream is over. */
  readonly left: () => void;
  /** Beside those of every event stream; none by default. */
  readonly headers?: Readonly<Record<string, string>>;
};

/**
 * A response that streams server-sent events, each given as its whole text. The next one is asked for when the reader has
 * taken the last one. An error breaks the connection instead of ending the stream: a page takes a stream that ends for a
 * whole answer.
 */
export function eventStreamResponse(
  events: AsyncGenerator<string, void, undefined>,
  { left, headers = {} }: EventStreamOptions,
): Response {
  const encoder = new TextEncoder();
  let heartbeat: NodeJS.Timeout | undefined;
  const over = () => {
    clearInterval(heartbeat);
    left();
  };
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      const ping = () => controller.enqueue(encoder.encode(PING));
      // The headers reach the page at once, also if the first event comes later.
      ping();
      heartbeat = setInterval(ping, HEARTBEAT_MS);
      heartbeat.unref();
    },
    pull: async (controller) => {
      try {
        const next = await events.next();
        if (next.done !== true) {
          controller.enqueue(encoder.encode(next.value));
          return;
        }
      } catch (error) {
        over();
        throw error;
      }
      over();
      controller.close();
    },
    cancel: () => {
      over();
      // One that is not waiting for the next event hears of it only here. It is not waited for: it may be at a slow read.
      void events.return().catch(() => undefined);
    },
  });
  return new Response(body, { headers: { ...HEADERS, ...headers } });
}
