import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Json, JsonObject } from "../../../src/core/json.ts";

type FakeToolCall = {
  readonly id?: string;
  readonly name: string;
  /** The arguments as they are sent: a string is sent unchanged, valid JSON or not. */
  readonly arguments: string | JsonObject;
};

export type FakeAnswer = {
  readonly text?: string;
  readonly reasoning?: string;
  readonly toolCalls?: readonly FakeToolCall[];
  /** Null: the answer has no usage. */
  readonly usage?: JsonObject | null;
  readonly finishReason?: string;
  /** Null: the answer has no id. */
  readonly id?: string | null;
};

/** How the server handles one request. */
export type Behaviour =
  | { readonly kind: "answer"; readonly answer: FakeAnswer; readonly delayMs?: number }
  /** Never answers; the socket stays open until the client or `close` ends it. */
  | { readonly kind: "hang" }
  /** Closes the connection without sending a byte. */
  | { readonly kind: "reset" }
  /** Sends the headers and half of an answer, then closes the connection; `announced`: with a content length. */
  | { readonly kind: "cut"; readonly announced: boolean }
  /** Chooses by the request. */
  | { readonly kind: "choose"; readonly choose: (request: RecordedRequest) => Behaviour }
  /** Any status and body, for instance an error or something that is not JSON. */
  | {
      readonly kind: "raw";
      readonly status: number;
      readonly body: string;
      readonly headers?: Readonly<Record<string, string>>;
    };

export type RecordedRequest = {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: JsonObject;
};

export const answer = (given: FakeAnswer | string, delayMs = 0): Behaviour => ({
  kind: "answer",
  answer: typeof given === "string" ? { text: given } : given,
  delayMs,
});
export const hang: Behaviour = { kind: "hang" };
export const reset: Behaviour = { kind: "reset" };
export const cutBody: Behaviour = { kind: "cut", announced: true };
export const cutBodyOfUnknownLength: Behaviour = { kind: "cut", announced: false };
export const emptyChoices: Behaviour = {
  kind: "raw",
  status: 200,
  body: JSON.stringify({
    id: "chatcmpl-empty",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [],
  }),
};
export const raw = (
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Behaviour => ({
  kind: "raw",
  status,
  body,
  headers,
});
/** An error in OpenAI's format. */
export const refusal = (
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Behaviour =>
  raw(
    status,
    JSON.stringify({ error: { message, type: "invalid_request_error", param: null, code: null } }),
    headers,
  );

/**
 * A real HTTP server with OpenAI's chat completions API, without streaming. It handles requests as scripted, in
 * order, and refuses a request beyond the script.
 *
 * @example
 * const server = await FakeOpenAiServer.start();
 * server.next(answer("Hello"), refusal(429, "slow down", { "retry-after": "1" }));
 * createOpenAICompatible({ name: "fake", baseURL: server.baseUrl });
 * await server.close();
 */
export class FakeOpenAiServer {
  /** Stays the same after `close`, for tests that need an address that nothing listens at. */
  baseUrl = "";
  readonly requests: RecordedRequest[] = [];
  /** TCP connections ever made: fewer than requests if sockets were reused. */
  connections = 0;
  /** Requests whose client disconnected before it had an answer. */
  abandoned = 0;
  readonly #server: Server;
  readonly #queue: Behaviour[] = [];
  readonly #waiting: { readonly count: number; readonly resolve: () => void }[] = [];

  private constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as JsonObject;
        const recorded = { path: request.url ?? "", headers: request.headers, body };
        this.#record(recorded);
        const next = this.#queue.shift() ?? refusal(400, "the script of the fake server is over");
        perform(next.kind === "choose" ? next.choose(recorded) : next, response);
      });
      request.on("error", () => {});
      response.on("close", () => {
        if (!response.writableEnded && !response.errored) this.abandoned++;
      });
    });
    this.#server.on("connection", () => this.connections++);
  }

  /** At a free port, or at that of another server's address, which must be closed. */
  static async start(address = ""): Promise<FakeOpenAiServer> {
    const fake = new FakeOpenAiServer();
    fake.#server.listen(address === "" ? 0 : Number(new URL(address).port), "127.0.0.1");
    await once(fake.#server, "listening");
    // A listening TCP server always has an AddressInfo; only pipes have a string.
    fake.baseUrl = `http://127.0.0.1:${(fake.#server.address() as AddressInfo).port}/v1`;
    return fake;
  }

  /** Adds the handling of the next requests to the script. */
  next(...behaviours: readonly Behaviour[]): void {
    this.#queue.push(...behaviours);
  }

  /** Forgets the rest of the script. */
  replaceScript(...behaviours: readonly Behaviour[]): void {
    this.#queue.splice(0, this.#queue.length, ...behaviours);
  }

  /** Resolves when `count` requests have arrived in total. */
  async received(count: number): Promise<void> {
    if (this.requests.length >= count) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push({ count, resolve });
    await promise;
  }

  /** The messages of the last request, as received. */
  get lastMessages(): readonly Json[] {
    const messages = this.requests.at(-1)?.body.messages;
    return Array.isArray(messages) ? messages : [];
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  #record(request: RecordedRequest): void {
    this.requests.push(request);
    for (const waiter of this.#waiting) if (this.requests.length >= waiter.count) waiter.resolve();
  }
}

function perform(behaviour: Behaviour, response: ServerResponse): void {
  switch (behaviour.kind) {
    case "hang":
      return;
    case "choose":
      throw new Error("Choose between behaviours that need no further look at the request.");
    case "reset":
      response.socket?.resetAndDestroy();
      return;
    case "cut":
      cut(behaviour.announced, response);
      return;
    case "raw":
      response.writeHead(behaviour.status, { "content-type": "application/json", ...behaviour.headers });
      response.end(behaviour.body);
      return;
    case "answer":
      setTimeout(() => {
        response.writeHead(200, { "content-type": "application/json" });
        response.end(completion(behaviour.answer));
      }, behaviour.delayMs ?? 0);
  }
}

/** Without a content length the end of the connection is the end of the body, so the client cannot notice. */
function cut(announced: boolean, response: ServerResponse): void {
  const body = completion({ text: "this answer is never heard in full" });
  const half = body.slice(0, body.length / 2);
  if (announced) {
    response.writeHead(200, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
    });
    response.write(half, () => response.socket?.destroySoon());
  } else {
    response.socket?.end(
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n${half}`,
    );
  }
}

function completion({ text, reasoning, toolCalls, usage, finishReason, id }: FakeAnswer): string {
  const calls = toolCalls?.map((call) => ({
    ...(call.id === undefined ? {} : { id: call.id }),
    type: "function",
    function: {
      name: call.name,
      arguments: typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments),
    },
  }));
  return JSON.stringify({
    ...(id === null ? {} : { id: id ?? "chatcmpl-1" }),
    object: "chat.completion",
    created: 1_700_000_000,
    model: "fake-model",
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: text ?? null,
          ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
          ...(calls === undefined ? {} : { tool_calls: calls }),
        },
        finish_reason: finishReason ?? (calls === undefined ? "stop" : "tool_calls"),
      },
    ],
    ...(usage === null
      ? {}
      : { usage: usage ?? { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 } }),
  });
}

/** An address that nothing listens at any more. */
export async function deadAddress(): Promise<string> {
  const gone = await FakeOpenAiServer.start();
  await gone.close();
  return gone.baseUrl;
}
