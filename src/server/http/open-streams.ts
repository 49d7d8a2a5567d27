import type { Socket } from "node:net";

/**
 * The streams that a Node server sends. One that fails, or is open when the server stops, is broken and never ended: a page takes
 * a stream that ends for a whole one. The adapter would write the text of the error into it, and end it.
 */
export class OpenStreams {
  readonly #sockets = new Set<Socket>();

  /** The response to send, whose body breaks the connection where it would fail. */
  over({ socket }: { readonly socket: Socket | null }, response: Response): Response {
    const { body, status, headers } = response;
    if (body === null || socket === null) return response;
    if (headers.get("content-type")?.startsWith("text/event-stream") === true) {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    }
    return new Response(breaking(body, socket), { status, headers });
  }

  break(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

function breaking(body: ReadableStream<Uint8Array>, socket: Socket): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream({
    pull: async (controller) => {
      try {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch {
        socket.destroy();
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
