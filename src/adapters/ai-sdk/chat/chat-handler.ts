import { ConfigurationError, MessageRefusedError, RunDeletedError } from "../../../core/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../core/json.ts";
import { assertOptions, type OptionNames } from "../../../core/naming/option-names.ts";
import type { MessageReceipt, SendOptions } from "../../../engine/runner/queue-options.ts";
import type { Runner } from "../../../engine/runner/runner.ts";
import { presentCursor } from "../../../engine/watch/present-cursor.ts";
import { placeOf } from "../../../engine/watch/watch-cursor.ts";
import type { Store } from "../../../store/store.ts";
import { answerApprovals } from "./chat-approvals.ts";
import { findExchange } from "./chat-exchanges.ts";
import { messagesOf } from "./chat-messages.ts";
import { ChatProblem, notFound } from "./chat-problem.ts";
import { type NewChatMessage, readChatRequest, readMessage } from "./chat-request.ts";
import { type ChatRoom, type ChatUser, chatSetup, findRoom, roomOf } from "./chat-room.ts";
import { answerTo, continued, ended, resumed, type WatchedChat, withdrawnMessage } from "./chat-stream.ts";
import { assertNotForeign, readJsonBody } from "./json-body.ts";
import type { UIChunkOptions } from "./ui-chunks.ts";
import { uiEventStream } from "./ui-event-stream.ts";

/** How the run of a new chat is started, beside its first message. */
export type ChatStart = Omit<NonNullable<SendOptions["orStart"]>, "input" | "address" | "startedBy">;

/** Options of `chatHandler`. */
export type ChatHandlerOptions = {
  /**
   * Who makes the request, and whose chats they may see; null: nobody, 401. Chat ids come from browsers, so this is the only
   * thing that keeps the chats of two users apart.
   */
  readonly authorize: (request: Request) => ChatUser | null | Promise<ChatUser | null>;
  /** The queue, budget, metadata and context of a new chat's run. By default those of the runner. */
  readonly start?: (user: ChatUser, request: Request) => ChatStart | Promise<ChatStart>;
  /** The sentence that a page gets when something fails. By default one that says nothing about the inside of the server. */
  readonly errorText?: NonNullable<UIChunkOptions["errorText"]>;
  /** The largest body of a request; 32 MiB by default. */
  readonly maxBodyBytes?: number;
};

/**
 * Answers the requests of `useChat`, by their method and the end of their path. Its functions answer one kind each, for
 * frameworks in which every route is a file of its own.
 */
export interface ChatHandler {
  (request: Request): Promise<Response>;
  /** `POST {api}`: a message, or answers to requests for approval. Streams the answer. */
  post(request: Request): Promise<Response>;
  /**
   * `GET {api}/{id}/stream`: the whole of the newest answer, and then live; `?from=` begins with the answer of that id. 204 if
   * there is no such chat.
   */
  stream(request: Request, chatId: string): Promise<Response>;
  /** `POST {api}/{id}/stop`: ends the present answer, and never the chat. */
  stop(request: Request, chatId: string): Promise<Response>;
  /** `GET {api}/{id}/messages`: what the store has of the chat. */
  messages(request: Request, chatId: string): Promise<Response>;
  /** `POST {api}/{id}/messages`: sends a message, and does not wait for the answer. */
  send(request: Request, chatId: string): Promise<Response>;
}

const OPTION_NAMES = {
  authorize: true,
  start: true,
  errorText: true,
  maxBodyBytes: true,
} satisfies OptionNames<ChatHandlerOptions>;

const DEFAULT_BODY_BYTES = 32 * 1024 * 1024;

/**
 * The server's side of a chat over a durable conversation, for `useChat` of the AI SDK: plain functions from a `Request` to
 * a `Response`. Answers survive a refresh, a deploy and `kill -9`; the process that answers need not be this one.
 *
 * @example
 * const chat = chatHandler(new Runner(conversation(clerk), { store }), {
 *   authorize: (request) => {
 *     const user = request.headers.get("x-user"); // your own: a session, a token
 *     return user === null ? null : { by: user, scope: user };
 *   },
 * });
 * const response = await chat(new Request("http://localhost/api/chat/c-1/messages"));
 */
export function chatHandler<O, I>(runner: Runner<O, I>, options: ChatHandlerOptions): ChatHandler {
  assertOptions("The second argument of chatHandler", options, OPTION_NAMES, { auth: "authorize" });
  if (typeof options.authorize !== "function")
    throw new ConfigurationError(
      "chatHandler needs authorize: a function from the request to { by, scope }, since chat ids come from browsers.",
    );
  const chats = new Chats(runner, chatSetup(runner), options);
  const answered = (answer: () => Promise<Response>) => withProblems(answer);
  const functions = {
    post: (request: Request) => answered(() => chats.post(request)),
    stream: (request: Request, chatId: string) => answered(() => chats.stream(request, chatId)),
    stop: (request: Request, chatId: string) => answered(() => chats.stop(request, chatId)),
    messages: (request: Request, chatId: string) => answered(() => chats.messages(request, chatId)),
    send: (request: Request, chatId: string) => answered(() => chats.send(request, chatId)),
  };
  return Object.assign((request: Request) => answered(() => route(functions, request)), functions);
}

/** Answers with what is wrong with a request. Errors of the server itself are for its framework. */
async function withProblems(answer: () => Promise<Response>): Promise<Response> {
  try {
    return await answer();
  } catch (error) {
    if (error instanceof ChatProblem) return error.toResponse();
    if (RunDeletedError.isInstance(error))
      return new ChatProblem(410, "This chat was deleted: begin another one.").toResponse();
    throw error;
  }
}

/** A place that a page gives must be one that it was given. */
function assertCursor(runId: string, cursor: string): void {
  try {
    placeOf(runId, cursor);
  } catch {
    throw new ChatProblem(400, "There is no such place in this chat: give `before` as it was given to you.");
  }
}

/** `{api}/{id}/{what}`, or `{api}`. */
async function route(functions: Omit<ChatHandler, never>, request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  const match = /\/([^/]+)\/(stream|stop|messages)$/.exec(pathname);
  const { method } = request;
  if (match === null) {
    if (method === "POST") return functions.post(request);
    throw new ChatProblem(
      405,
      "Send a message with POST, or add the id of the chat and /stream or /messages.",
    );
  }
  const chatId = decoded(match[1] ?? "");
  switch (`${method} ${match[2]}`) {
    case "GET stream":
      return functions.stream(request, chatId);
    case "POST stop":
      return functions.stop(request, chatId);
    case "GET messages":
      return functions.messages(request, chatId);
    case "POST messages":
      return functions.send(request, chatId);
    default:
      throw new ChatProblem(
        405,
        `There is no ${method} of ${match[2]}: use GET stream, POST stop, GET messages, POST messages.`,
      );
  }
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new ChatProblem(400, "The id of the chat in the path is not encoded as it should be.");
  }
}

class Chats {
  readonly #runner: Pick<Runner, "watch" | "send" | "stop">;
  readonly #pipeline: string;
  readonly #store: Store;
  readonly #options: ChatHandlerOptions;

  constructor(
    runner: Pick<Runner, "watch" | "send" | "stop">,
    { pipeline, store }: ReturnType<typeof chatSetup>,
    options: ChatHandlerOptions,
  ) {
    this.#runner = runner;
    this.#pipeline = pipeline;
    this.#store = store;
    this.#options = options;
  }

  async post(request: Request): Promise<Response> {
    const user = await this.#authorize(request);
    const given = readChatRequest(await this.#body(request));
    const room = this.#room(user, given.chatId);
    const hasRoom = await findRoom(this.#store, room);
    if (given.kind === "message") {
      const from = hasRoom ? await presentCursor(this.#store, room.runId) : null;
      const sent = await this.#send(room, given.message, user, request);
      const before = sent.duplicate ? await this.#placeBefore(room, sent) : from;
      return this.#respond(request, room, (chat) => answerTo(chat, sent.messageId, before));
    }
    if (!hasRoom) throw notFound();
    await answerApprovals(this.#store, room.runId, room.person, given.answers);
    const waitIds = given.answers.map(({ waitId }) => waitId);
    return this.#respond(request, room, (chat) => continued(chat, { message: given.messageId, waitIds }));
  }

  async stream(request: Request, chatId: string): Promise<Response> {
    const room = this.#room(await this.#authorize(request), chatId);
    if (!(await findRoom(this.#store, room))) return new Response(null, { status: 204 });
    const from = new URL(request.url).searchParams.get("from");
    return this.#respond(request, room, (chat) => resumed(chat, from));
  }

  async stop(request: Request, chatId: string): Promise<Response> {
    assertNotForeign(request);
    const room = await this.#existing(request, chatId);
    const { kind } = await this.#runner.stop(room.runId, { by: room.person });
    return Response.json({ stopped: kind === "requested" }, NO_STORE);
  }

  async messages(request: Request, chatId: string): Promise<Response> {
    const { runId } = await this.#existing(request, chatId);
    const before = new URL(request.url).searchParams.get("before");
    if (before !== null) assertCursor(runId, before);
    const { errorText } = this.#options;
    const chat = { runner: this.#runner, store: this.#store, runId };
    return Response.json(
      await messagesOf(errorText === undefined ? chat : { ...chat, errorText }, before),
      NO_STORE,
    );
  }

  async send(request: Request, chatId: string): Promise<Response> {
    const user = await this.#authorize(request);
    const { mode, ...message } = await this.#body(request);
    const room = this.#room(user, chatId);
    await findRoom(this.#store, room);
    const id = message.id ?? globalThis.crypto.randomUUID();
    const sent = await this.#send(room, readMessage({ ...message, id }, mode), user, request);
    const { messageId, duplicate, status } = sent;
    return Response.json({ messageId, duplicate, status }, { status: 202, ...NO_STORE });
  }

  async #authorize(request: Request): Promise<ChatUser> {
    const user = await this.#options.authorize(request);
    if (user === null || user === undefined) throw new ChatProblem(401, "Sign in first.");
    return user;
  }

  #room(user: ChatUser, chatId: string): ChatRoom {
    return roomOf(this.#pipeline, user, chatId);
  }

  async #existing(request: Request, chatId: string): Promise<ChatRoom> {
    const room = this.#room(await this.#authorize(request), chatId);
    if (!(await findRoom(this.#store, room))) throw notFound();
    return room;
  }

  async #body(request: Request): Promise<JsonObject> {
    const body: Json = await readJsonBody(request, this.#options.maxBodyBytes ?? DEFAULT_BODY_BYTES);
    if (!isJsonObject(body)) throw new ChatProblem(400, "The body is not a JSON object.");
    return body;
  }

  async #send(
    room: ChatRoom,
    { id, content, mode }: NewChatMessage,
    user: ChatUser,
    request: Request,
  ): Promise<MessageReceipt> {
    const { runId, address, person } = room;
    const start = (await this.#options.start?.(user, request)) ?? {};
    // Before the message: the answer is streamed if somebody watches when it begins.
    this.#store.live?.announce(runId);
    try {
      const sent = await this.#runner.send(runId, content, {
        id,
        by: person,
        ...(mode === undefined ? {} : { mode }),
        orStart: { ...start, startedBy: person, address },
      });
      if (sent.status === "returned") throw ended(sent.reason ?? "");
      return sent;
    } catch (error) {
      // Of two scopes that begin a chat of the same id at once, the second one finds it taken.
      await findRoom(this.#store, room);
      if (!MessageRefusedError.isInstance(error)) throw error;
      if (!error.details.reason.startsWith("other_")) throw new ChatProblem(400, error.message);
      throw new ChatProblem(409, "Another message of this chat has the same id: load the chat again.");
    }
  }

  /** A place in the log before a message that was sent earlier was taken. */
  async #placeBefore({ runId }: ChatRoom, { messageId }: MessageReceipt): Promise<string> {
    // Before the look at the message: so it is behind this place that a message that waits is taken.
    const present = await presentCursor(this.#store, runId);
    const messages = await this.#store.listMessages(runId);
    const found = messages.find(({ id }) => id === messageId);
    if (found?.status === "withdrawn") throw withdrawnMessage();
    const { stepPath: step, exchange } = found?.takenBy ?? { stepPath: "", exchange: 0 };
    if (exchange === 0) return present;
    return (await findExchange(this.#store, runId, { step, exchange })).cursor;
  }

  #respond(
    request: Request,
    { runId }: ChatRoom,
    chunks: (chat: WatchedChat) => ReturnType<typeof resumed>,
  ): Response {
    const left = new AbortController();
    const signal = AbortSignal.any([request.signal, left.signal]);
    const { errorText } = this.#options;
    const chat = { runner: this.#runner, store: this.#store, runId, signal };
    const made = chunks(errorText === undefined ? chat : { ...chat, errorText });
    return uiEventStream(made, () => left.abort());
  }
}

const NO_STORE = { headers: { "cache-control": "no-store" } };
