import type { UIMessage, UIMessageChunk } from "ai";
import type { Json } from "../../../core/json.ts";
import type { Runner } from "../../../engine/runner/runner.ts";
import { placeOf } from "../../../engine/watch/watch-cursor.ts";
import type { WatchEvent, WatchEventOf } from "../../../engine/watch/watch-event.ts";
import type { MessageRecord, Store } from "../../../store/store.ts";
import { loadAiSdk } from "../ai-sdk-package.ts";
import { type ExchangeStart, exchangesBackwards, lastExchange } from "./chat-exchanges.ts";
import { type UIChunkOptions, UIChunks } from "./ui-chunks.ts";
import { userPartsOf, wholeChunk, withBytes } from "./user-parts.ts";

/** A page of a chat's messages, as `useChat` takes them. */
export type ChatMessages = {
  readonly messages: readonly UIMessage[];
  /** As `before` of the next request: gives the messages before these. Null if there are none. */
  readonly before: string | null;
};

type StoredChat = {
  readonly runner: Pick<Runner, "watch">;
  readonly store: Store;
  readonly runId: string;
} & Pick<UIChunkOptions, "errorText">;

/** How many exchanges are given at a time. */
const EXCHANGES_AT_ONCE = 100;

/** The messages of a chat, from the store: those of its newest exchanges, or of those before a place in its log. */
export async function messagesOf(chat: StoredChat, before: string | null): Promise<ChatMessages> {
  const { store, runId } = chat;
  const { first, isFirst } = await firstOfPage(store, runId, before);
  const messages = first === null ? [] : await exchangeMessages(chat, first, before);
  if (before === null) messages.push(...(await waitingTexts(store, runId)));
  const whole = await Promise.all(messages.map((message) => withFiles(chat, message)));
  return { messages: whole, before: isFirst ? null : (first?.cursor ?? null) };
}

/** A message with the bytes of the files that the user has sent. */
async function withFiles(chat: StoredChat, message: UIMessage): Promise<UIMessage> {
  const parts = await Promise.all(
    message.parts.map(async (part) => {
      const isSent = message.role === "user" && (part.type === "text" || part.type === "file");
      return isSent ? withBytes(chat, [part]) : part;
    }),
  );
  return { ...message, parts: parts.flat() };
}

/** The exchange that a page begins with, and whether it is the first of the run. */
async function firstOfPage(
  store: Store,
  runId: string,
  before: string | null,
): Promise<{ readonly first: ExchangeStart | null; readonly isFirst: boolean }> {
  const end = before === null ? Number.POSITIVE_INFINITY : placeOf(runId, before).seq;
  let first: ExchangeStart | null = null;
  let count = 0;
  for await (const exchange of exchangesBackwards(store, runId)) {
    if (placeOf(runId, exchange.cursor).seq >= end) continue;
    if (count === EXCHANGES_AT_ONCE) return { first, isFirst: false };
    first = exchange;
    count += 1;
  }
  return { first, isFirst: true };
}

/** The messages of the exchanges from one on, up to the place `before`. */
async function exchangeMessages(
  chat: StoredChat,
  { cursor }: ExchangeStart,
  before: string | null,
): Promise<UIMessage[]> {
  const { runner, store, runId, errorText } = chat;
  const talks: StoredExchange[] = [];
  for await (const event of runner.watch(runId, { after: cursor, follow: false })) {
    if (isBehind(runId, event, before)) break;
    if (event.type === "exchange.begun") talks.push(new StoredExchange(event, errorText));
    talks.at(-1)?.apply(event);
  }
  const open = await store.listWaits(runId, { open: true });
  talks.at(-1)?.finish(open.map(({ waitId }) => waitId));
  const messages: UIMessage[] = [];
  for (const talk of talks) messages.push(...(await talk.messages(chat)));
  return messages;
}

function isBehind(runId: string, event: WatchEvent, place: string | null): boolean {
  return place !== null && "cursor" in event && placeOf(runId, event.cursor).seq > placeOf(runId, place).seq;
}

type Begun = WatchEventOf<"exchange.begun">;

/** The user's message and the answer of one exchange. */
class StoredExchange {
  readonly #begun: Begun;
  readonly #chunks: UIChunks;
  readonly #made: UIMessageChunk[] = [];
  #user: UIMessage | null = null;

  constructor(begun: Begun, errorText: UIChunkOptions["errorText"]) {
    this.#begun = begun;
    this.#chunks = new UIChunks(errorText === undefined ? {} : { errorText });
  }

  apply(event: WatchEvent): void {
    this.#made.push(...this.#chunks.apply(event));
    if (event.type === "message.taken" && event.messageId === this.#begun.messageId) {
      // A message that a milestone has put back belongs to the exchange that has taken it since.
      if (event.exchange === this.#begun.exchange) this.#user = userMessage(event.messageId, event.body);
    }
  }

  /** Nothing follows: the run has ended, or waits. */
  finish(open: readonly string[]): void {
    const isAsked = !this.#chunks.isOver && this.#chunks.asksUser(open);
    this.#made.push(...(isAsked ? this.#chunks.waitForUser() : this.#chunks.end()));
  }

  async messages(chat: StoredChat): Promise<UIMessage[]> {
    if (this.#user === null && this.#begun.messageId !== null) return [];
    const answer = await folded(await Promise.all(this.#made.map((chunk) => wholeChunk(chat, chunk))));
    const isEmpty = answer === null || (!this.#chunks.isOver && !answer.parts.some(isShown));
    return [...(this.#user === null ? [] : [this.#user]), ...(isEmpty ? [] : [answer])];
  }
}

function isShown({ type }: UIMessage["parts"][number]): boolean {
  return type !== "step-start";
}

/** The message that a page would have after these chunks: the SDK's own reader says. */
async function folded(chunks: readonly UIMessageChunk[]): Promise<UIMessage | null> {
  const { readUIMessageStream } = await loadAiSdk();
  const stream = new ReadableStream<UIMessageChunk>({
    start: (controller) => {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  let last: UIMessage | null = null;
  for await (const message of readUIMessageStream({ stream, onError: () => undefined })) last = message;
  return last;
}

/** The texts that wait for an exchange of their own. Those that join the open one are shown in its answer. */
async function waitingTexts(store: Store, runId: string): Promise<UIMessage[]> {
  const waiting = await store.listMessages(runId, { status: "waiting" });
  const texts = waiting.filter(({ event }) => event === null);
  if (texts.length === 0) return [];
  const isOpen = await hasOpenExchange(store, runId);
  return texts.filter(({ mode }) => mode === "queue" || !isOpen).map(ofRecord);
}

function ofRecord({ id, body }: MessageRecord): UIMessage {
  return userMessage(id, body);
}

async function hasOpenExchange(store: Store, runId: string): Promise<boolean> {
  const last = await lastExchange(store, runId);
  if (last === null) return false;
  const after = { stepPath: last.step, exchange: last.exchange - 1 };
  const [found] = await store.listExchanges(runId, { after, limit: 1 });
  return found?.endedAt === null;
}

function userMessage(id: string, body: Json): UIMessage {
  return { id, role: "user", parts: userPartsOf(body) };
}
