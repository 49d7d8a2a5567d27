// A local HTTP server without a protocol library, so that it can send what no library would.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

type Asked = {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly protocolVersion?: string };
};

export type HandMadeServer = {
  readonly port: number;
  readonly url: string;
  readonly methods: readonly string[];
};

/** `list` answers `tools/list`, for example with `result`. */
export async function handMadeServer(
  list: (response: ServerResponse, result: (value: unknown) => void) => void,
): Promise<HandMadeServer> {
  const methods: string[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    response.on("error", () => undefined);
    if (request.method !== "POST") return void response.writeHead(405).end();
    const { id, method = "", params } = JSON.parse(await text(request)) as Asked;
    methods.push(method);
    if (id === undefined) return void response.writeHead(202).end();
    response.setHeader("content-type", "application/json");
    const result = (value: unknown) =>
      void response.end(JSON.stringify({ jsonrpc: "2.0", id, result: value }));
    if (method === "tools/list") return list(response, result);
    result({
      protocolVersion: params?.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "hand-made", version: "1" },
    });
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { port, url: `http://127.0.0.1:${port}/mcp`, methods };
}

/** Sends the same bytes until the client disconnects. */
export function sendForEver(response: ServerResponse, beginning: string, again = " "): void {
  response.write(beginning);
  const piece = Buffer.alloc(1024 * 1024, again);
  const send = () => {
    while (!response.destroyed && response.write(piece));
  };
  response.on("drain", send);
  send();
}
