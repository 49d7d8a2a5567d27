// `pawl/chat`: for browsers. Imports nothing that runs.

import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";
import { eventsIn, within } from "./event-stream.ts";
import { JoinedStream, stepsOf } from "./joined-stream.ts";
import { Patience } from "./patience.ts";

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
  /** How long a connection that was lost is tried again, without anything new from the server; 5 minutes by default. */
  readonly giveUpAfterMs?: number;
  /** A connection on which nothing comes for so long is lost; 45 seconds by default. The server says more often that it lives. */
  readonly silentAfterMs?: number;
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

const GIVE_UP_AFTER_MS = 5 * 60_000;
const SILENT_AFTER_MS = 45_000;
/** A connection that has held for so long was a good one. */
const LASTING_MS = 10_000;

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
    const init = { method: "POST", body: JSON.stringify(given) };
    const first = (signal: AbortSignal) => this.#request("", init, headers, signal);
    if (last?.role !== "assistant")
      // The message has an id: sent again, it is the same message, with the same answer from its beginning.
      return this.#joined({ first, again: first }, new JoinedStream(null), abortSignal);
    // Answers to approvals are not sent twice. What is behind this message is none of this request.
    const again = (signal: AbortSignal) => this.#resume(options, last.id, signal);
    return this.#joined({ first, again, isOne: true }, new JoinedStream(stepsOf(last)), abortSignal);
  }

  /**
   * The newest answer, from its beginning. `resumeStream({ body: { from: id } })` begins with the answer of that id: with the
   * last one that the page has, since that may be a half of one, and the newest one another by now.
   */
  async reconnectToStream(options: ReconnectRequest<M>): Promise<ReadableStream<UIMessageChunk> | null> {
    const { abortSignal, body } = options;
    const joined = new JoinedStream(null);
    const again = (signal: AbortSignal) => this.#resume(options, joined.messageId ?? fromIn(body), signal);
    const response = await this.#patiently(again, this.#patience(), abortSignal ?? NEVER);
    if (response.status === 204) return null;
    return this.#joined({ first: () => Promise.resolve(response), again }, joined, abortSignal);
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
    const post = (signal: AbortSignal) => this.#request(path, { method: "POST", body }, undefined, signal);
    await this.#checked(await this.#patiently(post, this.#patience(), NEVER));
  }

  /** From the beginning of that answer: the newest one may be another one by now. */
  #resume({ chatId, headers }: ResumedChat, from: string | null, signal: AbortSignal): Promise<Response> {
    const path = `/${encodeURIComponent(chatId)}/stream`;
    const query = from === null ? "" : `?from=${encodeURIComponent(from)}`;
    return this.#request(path + query, { method: "GET" }, headers, signal);
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

  #patience(): Patience {
    return new Patience(this.#options.giveUpAfterMs ?? GIVE_UP_AFTER_MS);
  }

  /** Tries again while there is no server to answer. What it answers is final. */
  async #patiently(request: Connecting, patience: Patience, signal: AbortSignal): Promise<Response> {
    for (;;) {
      await patience.pause(signal);
      const tried = new AbortController();
      try {
        const answer = request(AbortSignal.any([signal, tried.signal]));
        const response = await within(this.#silentAfterMs, answer);
        if (!AWAY.includes(response.status) || patience.isOver) {
          this.#report("back");
          return response;
        }
      } catch (error) {
        tried.abort();
        if (signal.aborted || patience.isOver) throw error;
      }
      this.#report("lost");
    }
  }

  get #silentAfterMs(): number {
    return this.#options.silentAfterMs ?? SILENT_AFTER_MS;
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
  async #joined(
    connections: Connections,
    joined: JoinedStream,
    abortSignal: AbortSignal | undefined,
  ): Promise<ReadableStream<UIMessageChunk>> {
    const left = new AbortController();
    const signal = abortSignal === undefined ? left.signal : AbortSignal.any([abortSignal, left.signal]);
    const patience = this.#patience();
    const body = await this.#stream(await this.#patiently(connections.first, patience, signal));
    const chunks = this.#chunks(body, { connections, joined, patience, signal });
    return new ReadableStream({
      pull: async (controller) => {
        const next = await chunks.next();
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      },
      cancel: () => {
        left.abort();
        void chunks.return().catch(() => undefined);
      },
    });
  }

  async *#chunks(
    first: ReadableStream<Uint8Array>,
    { connections, joined, patience, signal }: Joining,
  ): AsyncGenerator<UIMessageChunk, void, undefined> {
    const { again, isOne = false } = connections;
    for (let body = first; ; ) {
      const begun = Date.now();
      try {
        for await (const event of eventsIn(body, { silentAfterMs: this.#silentAfterMs, signal })) {
          if (event === "done" || (isOne && joined.isOther(event))) return;
          const chunks = joined.take(event);
          if (chunks.length > 0) patience.renew();
          yield* chunks;
        }
      } catch (error) {
        if (signal.aborted) throw error;
      }
      signal.throwIfAborted();
      // The server says so when an answer is over: anything else is a connection that was lost.
      this.#report("lost");
      // A message may wait for its turn for hours, with nothing new but that the server lives.
      if (Date.now() - begun > LASTING_MS) patience.renew();
      if (patience.isOver) throw new TypeError("network error: the answer breaks off again and again");
      const response = await this.#patiently(again, patience, signal);
      if (response.status === 204) throw new Error("The chat is gone: load the page again.");
      body = await this.#stream(response);
      joined.replay();
    }
  }

  /** The body of a response that is a stream of events, and no page of a proxy or of a sign-in. */
  async #stream(response: Response): Promise<ReadableStream<Uint8Array>> {
    const body = await this.#checked(response);
    const type = response.headers.get("content-type") ?? "";
    if (type.startsWith("text/event-stream")) return body;
    await body.cancel().catch(() => undefined);
    throw new Error(
      `The server answered with ${type || "nothing that is known"}, not with a stream: check api.`,
    );
  }
}

function fromIn(body: object | undefined): string | null {
  const { from }: { readonly from?: unknown } = body ?? {};
  return typeof from === "string" ? from : null;
}

type Connecting = (signal: AbortSignal) => Promise<Response>;

/** How the answer is asked for, and how it is asked for again from its beginning. */
type Connections = {
  readonly first: Connecting;
  readonly again: Connecting;
  /** It ends with the answer that it begins with. */
  readonly isOne?: boolean;
};

type Joining = {
  readonly connections: Connections;
  readonly joined: JoinedStream;
  readonly patience: Patience;
  readonly signal: AbortSignal;
};

/** A proxy answers for a server that is not there. */
const AWAY: readonly number[] = [502, 503, 504];

const NEVER = new AbortController().signal;
