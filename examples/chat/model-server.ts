/**
 * A model behind a socket: it speaks the streaming protocol of OpenAI, as most servers of models do, and its answers come from
 * a script. So the example runs without an API key, over the same provider, HTTP and parsing as with a real one.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

export type ModelMessage = {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content?: string | readonly { readonly type: string; readonly text?: string }[] | null;
};

export type ModelRequestBody = { readonly messages: readonly ModelMessage[]; readonly stream?: boolean };

export type ModelReply =
  | { readonly text: string }
  | { readonly tool: string; readonly input: object }
  /** An HTTP status: the provider takes no such request. */
  | { readonly refused: number };

export type ModelServerOptions = {
  readonly reply: (body: ModelRequestBody) => ModelReply;
  /** Resolves when this piece of the answer may be sent. */
  readonly pace: (piece: { readonly request: number; readonly index: number }) => Promise<unknown>;
};

export class ModelServer {
  /** What was asked, in order. */
  readonly requests: ModelRequestBody[] = [];
  readonly #options: ModelServerOptions;
  readonly #server: Server;

  private constructor(options: ModelServerOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => {
      // A worker that was killed asks no more.
      this.#answer(request, response).catch(() => response.destroy());
    });
  }

  static async listen(options: ModelServerOptions): Promise<ModelServer> {
    const server = new ModelServer(options);
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server, "listening");
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = (await json(request)) as ModelRequestBody;
    const number = this.requests.push(body);
    const reply = this.#options.reply(body);
    if ("refused" in reply) {
      response.writeHead(reply.refused, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: "refused" } }));
      return;
    }
    const pieces = "text" in reply ? (reply.text.match(/\S+\s*/g) ?? []) : [callOf(number, reply)];
    const isStreamed = body.stream === true;
    if (isStreamed) response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    for (const [index, piece] of pieces.entries()) {
      await this.#options.pace({ request: number, index });
      if (isStreamed) event(response, number, { delta: deltaOf(piece), finish_reason: null });
    }
    await this.#options.pace({ request: number, index: pieces.length });
    const finish_reason = "text" in reply ? "stop" : "tool_calls";
    if (isStreamed) {
      event(response, number, { delta: {}, finish_reason });
      response.write(`data: ${JSON.stringify({ ...envelope(number), choices: [], usage: USAGE })}\n\n`);
      response.end("data: [DONE]\n\n");
      return;
    }
    const message =
      "text" in reply ? { content: reply.text } : { content: null, tool_calls: [callOf(number, reply)] };
    const choices = [{ index: 0, message: { role: "assistant", ...message }, finish_reason }];
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ ...envelope(number), choices, usage: USAGE }));
  }
}

const USAGE = { prompt_tokens: 40, completion_tokens: 20, total_tokens: 60 };

type ToolCall = ReturnType<typeof callOf>;

function callOf(request: number, { tool, input }: Extract<ModelReply, { tool: string }>) {
  return {
    index: 0,
    id: `call-${request}`,
    type: "function",
    function: { name: tool, arguments: JSON.stringify(input) },
  };
}

const deltaOf = (piece: string | ToolCall) =>
  typeof piece === "string"
    ? { role: "assistant", content: piece }
    : { role: "assistant", tool_calls: [piece] };

const envelope = (request: number) => ({
  id: `answer-${request}`,
  object: "chat.completion.chunk",
  created: 0,
  model: "clerk",
});

function event(response: ServerResponse, request: number, choice: object): void {
  response.write(`data: ${JSON.stringify({ ...envelope(request), choices: [{ index: 0, ...choice }] })}\n\n`);
}
