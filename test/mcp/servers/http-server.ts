// A real local HTTP server, made with the official package, and the requests that it received.

import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import {
  createMcpHandler,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { onTestFinished } from "vitest";
import { z } from "zod";

export type SeenRequest = {
  readonly method: string;
  readonly headers: { readonly [name: string]: string };
  readonly body: {
    readonly id?: number;
    readonly method?: string;
    readonly params?: { readonly _meta?: unknown };
  };
};

type Handler = (request: Request) => Promise<Response>;
/** Answers in place of the server if it returns true. */
export type Interference = (seen: SeenRequest, response: ServerResponse) => boolean;

export type HttpServer = {
  readonly url: string;
  readonly requests: SeenRequest[];
  /** The requests that call a tool. */
  readonly calls: () => SeenRequest[];
  readonly interfere: (by: Interference) => void;
  /** Forgets all sessions; the address stays the same. */
  readonly forget: () => void;
  readonly stop: () => Promise<void>;
};

/** `kind`: without sessions; with sessions, like most servers; or only with the later revision of the protocol. */
export async function httpServer(kind: "stateless" | "sessions" | "modern"): Promise<HttpServer> {
  const requests: SeenRequest[] = [];
  let interference: Interference = () => false;
  let handler = handlerOf(kind);
  const server = createServer((incoming, response) => {
    void serve(incoming, response, (seen) => {
      requests.push(seen);
      return interference(seen, response) ? null : handler;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stop = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  onTestFinished(stop);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    requests,
    calls: () => requests.filter(({ body }) => body.method === "tools/call"),
    interfere: (by) => {
      interference = by;
    },
    forget: () => {
      handler = handlerOf(kind);
    },
    stop,
  };
}

function handlerOf(kind: "stateless" | "sessions" | "modern"): Handler {
  if (kind === "sessions") return withSessions();
  const { fetch } = createMcpHandler(() => weatherServer(), {
    legacy: kind === "modern" ? "reject" : "stateless",
  });
  return (request) => fetch(request);
}

function weatherServer(): McpServer {
  const server = new McpServer({ name: "weather", version: "1" });
  const inputSchema = z.object({ city: z.string() });
  server.registerTool("get_weather", { description: "The weather.", inputSchema }, ({ city }) => ({
    content: [{ type: "text", text: `Sun in ${city}` }],
  }));
  return server;
}

function withSessions(): Handler {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  return async (request) => {
    const id = request.headers.get("mcp-session-id");
    if (id !== null)
      return (
        sessions.get(id)?.handleRequest(request) ??
        Response.json({ error: "No such session" }, { status: 404 })
      );
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (session) => void sessions.set(session, transport),
      onsessionclosed: (session) => void sessions.delete(session),
    });
    await weatherServer().connect(transport);
    return transport.handleRequest(request);
  };
}

async function serve(
  incoming: IncomingMessage,
  response: ServerResponse,
  handlerFor: (seen: SeenRequest) => Handler | null,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString("utf8");
  const headers = Object.fromEntries(
    Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
  );
  const { method = "GET" } = incoming;
  const body = (text === "" ? {} : JSON.parse(text)) as SeenRequest["body"];
  const handler = handlerFor({ method, headers, body });
  if (handler === null) return;
  const url = `http://${incoming.headers.host}${incoming.url}`;
  const answer = await handler(new Request(url, { method, headers, ...(text === "" ? {} : { body: text }) }));
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (answer.body === null) response.end();
  else
    Readable.fromWeb(answer.body)
      .on("error", () => response.destroy())
      .pipe(response);
}
