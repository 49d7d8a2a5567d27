export type Holding = {
  /** The response is broken when one of these aborts. */
  readonly until: readonly AbortSignal[];
  /** Called once, when the response is over: read to its end, cancelled, failed or broken. */
  readonly release: () => void;
};

/**
 * A response that holds something for as long as it is being read. One that is broken fails, and does not end: a page takes a
 * stream that ends for a whole one. Keeps the back-pressure of its reader.
 *
 * A reader that neither reads nor cancels is noticed by the signal of its request alone.
 */
export function heldResponse(response: Response, { until, release }: Holding): Response {
  const { body, status, headers } = response;
  if (body === null) {
    release();
    return response;
  }
  const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader();
  const over = new AbortController();
  const end = () => {
    // Takes the listeners below away.
    over.abort();
    release();
  };
  const stream = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        const breakOff = (reason: unknown) => {
          if (over.signal.aborted) return;
          end();
          controller.error(reason);
          reader.cancel(reason).catch(() => undefined);
        };
        for (const signal of until) {
          signal.addEventListener("abort", () => breakOff(signal.reason), { signal: over.signal });
          if (signal.aborted) breakOff(signal.reason);
        }
      },
      pull: async (controller) => {
        try {
          const { done, value } = await reader.read();
          // Broken meanwhile: the reader was cancelled, which is no end.
          if (over.signal.aborted) return;
          if (!done) return controller.enqueue(value);
          end();
          controller.close();
        } catch (error) {
          if (!over.signal.aborted) end();
          throw error;
        }
      },
      cancel: (reason) => {
        end();
        return reader.cancel(reason);
      },
    },
    // Nothing is read ahead.
    { highWaterMark: 0 },
  );
  return new Response(stream, { status, headers });
}
