import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

export type HttpRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Uint8Array;
};

export type HttpReply = {
  readonly status: number;
  readonly type: string;
  readonly body: string | Uint8Array;
};

export type LoopbackServer = { readonly url: string; readonly close: () => Promise<void> };

/** An HTTP server that only this machine can reach, on a port that the system picks. */
export async function listenOnLoopback(
  answer: (request: HttpRequest) => HttpReply | Promise<HttpReply>,
): Promise<LoopbackServer> {
  const server = createServer((request, response) => {
    // Clients are killed in the middle of a request; there is no one left to answer.
    handle(request, response, answer).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

async function handle(
  request: IncomingMessage,
  response: ServerResponse,
  answer: (request: HttpRequest) => HttpReply | Promise<HttpReply>,
): Promise<void> {
  const { method = "GET", url = "/", headers } = request;
  const { status, type, body } = await answer({ method, path: url, headers, body: await buffer(request) });
  response.writeHead(status, { "content-type": type }).end(body);
}

export function jsonAnswer(status: number, value: object): HttpReply {
  return { status, type: "application/json", body: JSON.stringify(value) };
}

/** The idempotency key of a request; all services read it from the same header. */
export function idempotencyKeyOf({ headers }: HttpRequest): string | null {
  const key = headers["idempotency-key"];
  return typeof key === "string" && key !== "" ? key : null;
}
