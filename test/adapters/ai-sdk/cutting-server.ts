import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";

/** How a connection ends after the bytes that were sent. Without a length, an end is no error to the client. */
export type ConnectionEnd = "end" | "reset";

/** A server that answers every request with the first bytes of one body, and then ends the connection. */
export class CuttingServer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
  }

  /** `cutOf` is asked for each request; `bytes` are those of the body to send. */
  static async start(
    body: Buffer,
    cutOf: (path: string) => { readonly bytes: number; readonly by: ConnectionEnd },
  ): Promise<CuttingServer> {
    const cutting = new CuttingServer(
      createServer((socket) => {
        cutting.#sockets.add(socket);
        socket.on("close", () => cutting.#sockets.delete(socket)).on("error", () => undefined);
        let request = "";
        socket.on("data", (chunk) => {
          request += chunk.toString("latin1");
          if (!isWhole(request)) return;
          const { bytes, by } = cutOf(/^POST (\S+)/.exec(request)?.[1] ?? "");
          request = "";
          const head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
          const sent = Buffer.concat([Buffer.from(head), body.subarray(0, bytes)]);
          if (by === "end") socket.end(sent);
          else socket.write(sent, () => setImmediate(() => socket.resetAndDestroy()));
        });
      }),
    );
    cutting.#server.listen(0, "127.0.0.1");
    await once(cutting.#server, "listening");
    return cutting;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}

function isWhole(request: string): boolean {
  const end = request.indexOf("\r\n\r\n");
  const length = Number(/content-length: (\d+)/i.exec(request)?.[1] ?? 0);
  return end !== -1 && request.length >= end + 4 + length;
}
