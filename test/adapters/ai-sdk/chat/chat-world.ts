// A chat over HTTP: a handler behind a real socket, and workers on the same store.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { onTestFinished } from "vitest";
import { z } from "zod";
import { type ChatHandlerOptions, chatHandler } from "../../../../src/adapters/ai-sdk/index.ts";
import {
  agent,
  type ConversationOptions,
  conversation,
  type Json,
  Runner,
  type RunnerOptions,
  type Store,
  tool,
  Worker,
} from "../../../../src/index.ts";
import { memoryStore } from "../../../engine/run-fixture.ts";
import { type StreamedAnswer, streamingPort } from "../../../engine/watch/streaming-port.ts";

export type ChatWorldOptions = {
  readonly store?: Store;
  readonly handler?: Partial<ChatHandlerOptions>;
  readonly talk?: ConversationOptions<Json>;
  readonly runner?: RunnerOptions;
  readonly approver?: "operator" | "user";
};

/** Its users sign in with a header: `x-user: ann` is in the scope `ann`. */
export async function chatWorld(answers: readonly StreamedAnswer[], options: ChatWorldOptions = {}) {
  const store = options.store ?? (await memoryStore());
  const refunds: string[] = [];
  const refund = tool({
    name: "refund",
    description: "Refunds an order.",
    inputSchema: z.object({ order: z.string() }),
    effect: "external",
    approval: true,
    approver: options.approver ?? "user",
    execute: ({ order }) => {
      refunds.push(order);
      return { refunded: order };
    },
  });
  const find = tool({
    name: "find",
    description: "Finds an order.",
    inputSchema: z.object({ order: z.string() }),
    effect: "read_only",
    execute: ({ order }) => ({ order, status: order === "large" ? "x".repeat(300_000) : "sent" }),
  });
  const model = streamingPort(...answers);
  const clerk = agent({ name: "clerk", model, instructions: "Help.", tools: { refund, find } });
  const talk = conversation(clerk, options.talk ?? {});
  const runner = new Runner(talk, { store, ...options.runner });
  const handler = chatHandler(runner, {
    authorize: (request) => {
      const by = request.headers.get("x-user");
      return by === null ? null : { by, scope: by };
    },
    ...options.handler,
  });
  const api = await serve(handler);
  return { store, runner, talk, model, refunds, api, handler, work: () => startWorker(store, talk) };
}

/** A worker until the test ends, or until it is stopped. */
function startWorker(store: Store, talk: ReturnType<typeof conversation>) {
  const stopped = new AbortController();
  const worker = new Worker({ store, pipelines: { clerk: talk } });
  const over = worker.run(stopped.signal);
  const stop = async () => {
    stopped.abort();
    await over;
  };
  onTestFinished(stop);
  return stop;
}

/** Serves a handler on loopback. A stream that errors breaks its connection. */
async function serve(handler: (request: Request) => Promise<Response>): Promise<string> {
  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const left = new AbortController();
    outgoing.on("close", () => left.abort());
    const { port } = server.address() as AddressInfo;
    const hasBody = incoming.method !== "GET";
    const request = new Request(`http://127.0.0.1:${port}${incoming.url ?? ""}`, {
      method: incoming.method ?? "GET",
      headers: incoming.headers as Record<string, string>,
      signal: left.signal,
      ...(hasBody ? { body: Readable.toWeb(incoming), duplex: "half" } : {}),
    });
    const response = await handler(request);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    if (response.body === null) outgoing.end();
    else await pipeline(Readable.fromWeb(response.body), outgoing);
  };
  const server = createServer((incoming, outgoing) => {
    answer(incoming, outgoing).catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/chat`;
}

type Sending = { readonly as?: string; readonly chat?: string; readonly mode?: string };

/** What `useChat` posts. */
export function post(
  api: string,
  messages: readonly unknown[],
  { as = "ann", chat = "c-1", mode }: Sending = {},
) {
  return fetch(api, {
    method: "POST",
    headers: { "content-type": "application/json", "x-user": as },
    body: JSON.stringify({ id: chat, messages, trigger: "submit-message", mode }),
  });
}

export function said(text: string, id = `m-${text}`): UIMessage {
  return { id, role: "user", parts: [{ type: "text", text }] };
}

export function get(api: string, what: "stream" | "messages", { as = "ann", chat = "c-1" }: Sending = {}) {
  return fetch(`${api}/${encodeURIComponent(chat)}/${what}`, { headers: { "x-user": as } });
}

/** The chunks of a response, once it is over. */
export async function chunksIn(response: Response): Promise<UIMessageChunk[]> {
  const text = await response.text();
  const lines = text.split("\n").filter((line) => line.startsWith("data: "));
  return lines
    .map((line) => line.slice("data: ".length))
    .filter((data) => data !== "[DONE]")
    .map((data) => JSON.parse(data) as UIMessageChunk);
}

export const typesOf = (chunks: readonly UIMessageChunk[]) => chunks.map(({ type }) => type);

/** What the store has of the chat. */
export async function stored(api: string, who: Sending = {}): Promise<UIMessage[]> {
  const response = await get(api, "messages", who);
  const { messages } = (await response.json()) as { messages: UIMessage[] };
  return messages;
}

/** The message as a page would have it after these chunks. */
export const textIn = (chunks: readonly UIMessageChunk[]) =>
  chunks.map((chunk) => (chunk.type === "text-delta" ? chunk.delta : "")).join("");

/** The message that a page has after these chunks. */
export async function shown(
  chunks: readonly UIMessageChunk[],
  message?: UIMessage,
): Promise<UIMessage | undefined> {
  const stream = new ReadableStream<UIMessageChunk>({
    start: (controller) => {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  let last: UIMessage | undefined;
  const reading = readUIMessageStream({ stream, ...(message === undefined ? {} : { message }) });
  for await (const state of reading) last = state;
  return last;
}
