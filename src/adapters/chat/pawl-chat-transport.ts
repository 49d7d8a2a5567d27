// `pawl/chat`: for browsers. Imports nothing that runs.

import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";
import { eventsIn } from "./event-stream.ts";
import { JoinedStream, stepsOf } from "./joined-stream.ts";

/** Options of `PawlChatTransport`. */
export type PawlChatTransportOptions = {
  /** Where the chat handler is; `/api/chat` by default. */
  readonly api?: string;
  /** Sent with each request; a function is called for each of them. By default none. */
  readonly headers?: HeadersSource | (() => HeadersSource | Promise<HeadersSource>);
  /** Whether cookies are sent; the browser's own `same-origin` by default. */
  readonly credentials?: "omit" | "same-origin" | "include";
  /** Used in the place of `fetch`. By default the browser's own. */
  readonly fetch?: typeof globalThis.fetch;
  /** How long a connection that was lost is tried again, without a word from the server; 5 minutes by default. */
  readonly giveUpAfterMs?: number;
  /** Called when a connection is lost, and again when it is back. By default nothing is. */
  readonly onConnection?: (state: "lost" | "back") => void;
};

type HeadersSource = Headers | { readonly [name: string]: string };

/** A message that is sent while the agent answers another one. */
export type SentWhileBusy = {
  /** The same id again is the same message. By default a new one. */
  readonly id?: string;
  readonly text: string;
  /** `steer`, the default: the agent sees it in its next turn. `queue`: after its answer. `interrupt`: at once. */
  readonly mode?: "queue" | "steer" | "interrupt";
};

type SendRequest<M extends UIMessage> = Parameters<ChatTransport<M>["sendMessages"]>[0];
type ReconnectRequest<M extends UIMessage> = Parameters<ChatTransport<M>["reconnectToStream"]>[0];

type ResumedChat = {
  readonly chatId: string;
  readonly headers?: HeadersSource;
  readonly abortSignal?: AbortSignal | undefined;
};

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;
const GIVE_UP_AFTER_MS = 5 * 60_000;

/**
 * A transport for `useChat` over a chat handler of Pawl. It reads an answer until its end: a connection that breaks (a
 * deploy, a server that died, a tunnel) is made again, and the page gets what it has missed.
 *
 * @example
 * const transport = new PawlChatTransport({ api: "/api/chat", onConnection: (state) => console.log(state) });
 * await transport.send("chat-7", { text: "And please hurry.", mode: "steer" });
 */
export class PawlChatTransport<M extends UIMessage = UIMessage> implements ChatTransport<M> {
  /** A resumed stream begins with the beginning of the answer. */
  readonly resumeStreamIsReplay = true;
  readonly #options: PawlChatTransportOptions;
  #isLost = false;

  constructor(options: PawlChatTransportOptions = {}) {
    this.#options = options;
  }

  async sendMessages(options: SendRequest<M>): Promise<ReadableStream<UIMessageChunk>> {
    const { chatId, messages, trigger, messageId, abortSignal, headers, body } = options;
    const last = messages.at(-1);
    const given = { ...body, id: chatId, messages: last === undefined ? [] : [last], trigger, messageId };
    const post = () =>
      this.#request("", { method: "POST", body: JSON.stringify(given) }, headers, abortSignal);
    if (last?.role !== "assistant")
      // The message has an id: sent again, it is the same message, with the same answer from its beginning.
      return this.#joined({ first: post, again: post, signal: abortSignal }, new JoinedStream(null));
    // Answers to approvals are not sent twice. What is behind this message is none of this request.
    const again = () => this.#resume(options, last.id);
    const connections = { first: post, again, isOne: true, signal: abortSignal };
    return this.#joined(connections, new JoinedStream(stepsOf(last)));
  }

  /**
   * The newest answer, from its beginning. `resumeStream({ body: { from: id } })` begins with the answer of that id: with the
   * last one that the page has, since that may be a half of one, and the newest one another by now.
   */
  async reconnectToStream(options: ReconnectRequest<M>): Promise<ReadableStream<UIMessageChunk> | null> {
    const { abortSignal, body } = options;
    const joined = new JoinedStream(null);
    const again = () => this.#resume(options, joined.messageId ?? fromIn(body));
    const response = await this.#patiently(again, abortSignal);
    if (response.status === 204) return null;
    const first = () => Promise.resolve(response);
    return this.#joined({ first, again, signal: abortSignal }, joined);
  }

  /** Ends the present answer, and never the chat. `stop` of `useChat` only ends the reading. */
  async stop(chatId: string): Promise<void> {
    await this.#checked(await this.#request(`/${encodeURIComponent(chatId)}/stop`, { method: "POST" }));
  }

  /** Sends a message while the agent answers another one. It appears in the open answer, or in the next one. */
  async send(chatId: string, { mode = "steer", ...message }: SentWhileBusy): Promise<void> {
    const id = message.id ?? globalThis.crypto.randomUUID();
    const body = JSON.stringify({ ...message, id, mode });
    const path = `/${encodeURIComponent(chatId)}/messages`;
    await this.#checked(await this.#patiently(() => this.#request(path, { method: "POST", body })));
  }

  /** From the beginning of that answer: the newest one may be another one by now. */
  #resume({ chatId, headers, abortSignal }: ResumedChat, from: string | null): Promise<Response> {
    const path = `/${encodeURIComponent(chatId)}/stream`;
    const query = from === null ? "" : `?from=${encodeURIComponent(from)}`;
    return this.#request(path + query, { method: "GET" }, headers, abortSignal);
  }

  async #request(
    path: string,
    init: { readonly method: string; readonly body?: string },
    more?: HeadersSource,
    signal?: AbortSignal,
  ): Promise<Response> {
    const { api = "/api/chat", headers: own, credentials, fetch = globalThis.fetch } = this.#options;
    const headers = new Headers(typeof own === "function" ? await own() : own);
    for (const [name, value] of new Headers(more)) headers.set(name, value);
    if (init.body !== undefined) headers.set("content-type", "application/json");
    return fetch(`${api.replace(/\/$/, "")}${path}`, {
      ...init,
      headers,
      ...(credentials === undefined ? {} : { credentials }),
      ...(signal === undefined ? {} : { signal }),
    });
  }

  /** Tries again while there is no server to answer. What it answers is final. */
  async #patiently(request: () => Promise<Response>, signal?: AbortSignal): Promise<Response> {
    const { giveUpAfterMs = GIVE_UP_AFTER_MS } = this.#options;
    const until = Date.now() + giveUpAfterMs;
    for (let tries = 0; ; tries++) {
      try {
        const response = await request();
        if (!AWAY.includes(response.status) || Date.now() > until) {
          this.#report("back");
          return response;
        }
      } catch (error) {
        if (signal?.aborted === true || Date.now() > until) throw error;
      }
      this.#report("lost");
      await pause(Math.min(FIRST_PAUSE_MS * 2 ** tries, LONGEST_PAUSE_MS), signal);
    }
  }

  /** Once for each change. */
  #report(state: "lost" | "back"): void {
    const isLost = state === "lost";
    if (isLost === this.#isLost) return;
    this.#isLost = isLost;
    this.#options.onConnection?.(state);
  }

  async #checked(response: Response): Promise<ReadableStream<Uint8Array>> {
    if (!response.ok) throw new Error((await response.text()) || `The server answered ${response.status}.`);
    if (response.body === null) throw new Error("The server answered without a body.");
    return response.body;
  }

  /** One stream over as many connections as it takes. */
  async #joined(connections: Connections, joined: JoinedStream): Promise<ReadableStream<UIMessageChunk>> {
    const { first, signal } = connections;
    const body = await this.#checked(await this.#patiently(first, signal));
    const chunks = this.#chunks(body, connections, joined);
    return new ReadableStream({
      pull: async (controller) => {
        const next = await chunks.next();
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      },
      cancel: async () => {
        await chunks.return();
      },
    });
  }

  async *#chunks(
    first: ReadableStream<Uint8Array>,
    { again, isOne = false, signal }: Connections,
    joined: JoinedStream,
  ): AsyncGenerator<UIMessageChunk, void, undefined> {
    for (let body = first; ; ) {
      try {
        for await (const event of eventsIn(body)) {
          if (event === "done" || (isOne && joined.isOther(event))) return;
          yield* joined.take(event);
        }
      } catch (error) {
        if (signal?.aborted === true) throw error;
      }
      // The server says so when an answer is over: anything else is a connection that was lost.
      this.#report("lost");
      const response = await this.#patiently(again, signal);
      if (response.status === 204) throw new Error("The chat is gone: load the page again.");
      body = await this.#checked(response);
      joined.replay();
    }
  }
}

function fromIn(body: object | undefined): string | null {
  const { from }: { readonly from?: unknown } = body ?? {};
  return typeof from === "string" ? from : null;
}

/** How the answer is asked for, and how it is asked for again from its beginning. */
type Connections = {
  readonly first: () => Promise<Response>;
  readonly again: () => Promise<Response>;
  /** It ends with the answer that it begins with. */
  readonly isOne?: boolean;
  readonly signal: AbortSignal | undefined;
};

/** A proxy answers for a server that is not there. */
const AWAY: readonly number[] = [502, 503, 504];

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  signal?.addEventListener("abort", () => resolve(), { once: true });
  await promise;
  clearTimeout(timer);
  signal?.throwIfAborted();
}
