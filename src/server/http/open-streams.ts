/** What Node writes a response to. */
type Outgoing = {
  readonly destroyed: boolean;
  destroy(): unknown;
  once(event: "close", listener: () => void): unknown;
};

/**
 * The streams that a Node server sends. One that fails, or is open when the server stops, is broken and never ended: a page takes
 * a stream that ends for a whole one. The adapter would write the text of the error into it, and end it.
 */
export class OpenStreams {
  readonly #open = new Set<Outgoing>();

  /** The response to send, whose body breaks the connection where it would fail. */
  over(outgoing: Outgoing, response: Response): Response {
    const { body, status, headers } = response;
    if (body === null) return response;
    // The client has left meanwhile. The adapter would wait for a close that was there already.
    if (outgoing.destroyed) {
      body.cancel().catch(() => undefined);
      return new Response(null, { status, headers });
    }
    if (headers.get("content-type")?.startsWith("text/event-stream") === true) {
      this.#open.add(outgoing);
      // Of the response, and not of its connection, which may carry a thousand of them.
      outgoing.once("close", () => this.#open.delete(outgoing));
    }
    return new Response(breaking(body, outgoing), { status, headers });
  }

  break(): void {
    for (const outgoing of this.#open) outgoing.destroy();
  }
}

function breaking(body: ReadableStream<Uint8Array>, outgoing: Outgoing): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream({
    pull: async (controller) => {
      try {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch {
        outgoing.destroy();
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
