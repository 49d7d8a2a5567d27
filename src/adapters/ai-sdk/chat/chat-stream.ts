import type { UIMessageChunk } from "ai";
import type { Runner } from "../../../engine/runner/runner.ts";
import { placeOf } from "../../../engine/watch/watch-cursor.ts";
import type { WatchEvent } from "../../../engine/watch/watch-event.ts";
import type { Store } from "../../../store/store.ts";
import { type ExchangeStart, exchangesBackwards, findExchange, lastExchange } from "./chat-exchanges.ts";
import { ChatProblem } from "./chat-problem.ts";
import { assistantMessageId, type UIChunkOptions, UIChunks } from "./ui-chunks.ts";
import { chunkWithBytes } from "./user-parts.ts";

type Chunks = AsyncGenerator<UIMessageChunk, void, undefined>;

/** A run of a chat, as its viewers see it. */
export type WatchedChat = {
  readonly runner: Pick<Runner, "watch">;
  readonly store: Store;
  readonly runId: string;
  readonly errorText?: UIChunkOptions["errorText"];
  /** The page has left. */
  readonly signal: AbortSignal;
};

/**
 * The answer to a message: the exchange that takes it, from its beginning. `from` is a place in the log before that; null for
 * the beginning of the run.
 */
export async function* answerTo(chat: WatchedChat, messageId: string, from: string | null): Chunks {
  const exchange = await takenBy(chat, messageId, from);
  if (exchange === null) return;
  const start = await findExchange(chat.store, chat.runId, exchange);
  yield* follow(chat, chunksFor(chat, start), start.cursor);
}

/** The exchange that takes the message, once one does; null if the page has left. */
async function takenBy(
  { runner, runId, signal }: WatchedChat,
  messageId: string,
  from: string | null,
): Promise<{ readonly step: string; readonly exchange: number } | null> {
  const after = from === null ? {} : { after: from };
  for await (const event of runner.watch(runId, { ...after, signal })) {
    const isTaken = event.type === "message.taken" && event.messageId === messageId;
    if (isTaken && event.exchange !== null) return { step: event.step, exchange: event.exchange };
    if (event.type === "run.ended") throw ended(event.status);
  }
  return null;
}

/** What a chat that takes no messages any more says. */
export function ended(status: string): ChatProblem {
  return status === "failed"
    ? new ChatProblem(
        409,
        "This chat has stopped with an error: an operator can resume it. Begin another one.",
      )
    : new ChatProblem(409, "This chat has ended: begin another one.");
}

function chunksFor({ errorText }: WatchedChat, { step, exchange }: ExchangeStart): UIChunks {
  return new UIChunks({ exchange: { step, exchange }, ...(errorText === undefined ? {} : { errorText }) });
}

/** What is behind a place in the log, and then live, until the exchange is over or waits for the user. */
async function* follow(chat: WatchedChat, chunks: UIChunks, after: string): Chunks {
  const { runner, runId, signal } = chat;
  for await (const event of runner.watch(runId, { after, signal })) {
    for (const chunk of chunks.apply(event)) yield await chunkWithBytes(chat, chunk);
    if (chunks.isOver) return;
  }
}

/**
 * The whole of the newest exchange, or of that of the message `from`, and then live. If more exchanges have begun since, or
 * messages wait, theirs follow: each is a message of its own.
 */
export async function* resumed(chat: WatchedChat, from: string | null = null): Chunks {
  const { signal } = chat;
  let last = await exchangeOf(chat, from);
  for (;;) {
    const chunks = last === null ? null : chunksFor(chat, last);
    if (chunks !== null && last !== null) yield* follow(chat, chunks, last.cursor);
    // A page that has to answer, or that shows an error, reads nothing behind it.
    if (signal.aborted || chunks?.hasFinished === false || !(await hasMore(chat, last))) return;
    last = await nextExchange(chat, last);
    if (last === null) return;
  }
}

/** The exchange of an answer, by the id of its message on the page; the newest one if there is no such answer. */
async function exchangeOf(
  { store, runId }: WatchedChat,
  message: string | null,
): Promise<ExchangeStart | null> {
  if (message === null) return lastExchange(store, runId);
  for await (const found of exchangesBackwards(store, runId))
    if (assistantMessageId(runId, found) === message) return found;
  return lastExchange(store, runId);
}

/** The exchange that begins after this one; null if the page has left, or the run has ended. */
async function nextExchange(
  { runner, store, runId, signal }: WatchedChat,
  last: ExchangeStart | null,
): Promise<ExchangeStart | null> {
  const after = last === null ? {} : { after: last.cursor };
  for await (const event of runner.watch(runId, { ...after, signal })) {
    if (event.type === "run.ended") return null;
    if (event.type !== "exchange.begun") continue;
    const isNew = last === null || event.step !== last.step || event.exchange !== last.exchange;
    if (isNew) return findExchange(store, runId, event);
  }
  return null;
}

/** True if another exchange follows: a text waits, or one has begun since. A text that comes later has a request of its own. */
async function hasMore({ store, runId }: WatchedChat, last: ExchangeStart | null): Promise<boolean> {
  const waiting = await store.listMessages(runId, { status: "waiting" });
  if (waiting.some(({ event }) => event === null)) return true;
  return (await lastExchange(store, runId))?.cursor !== last?.cursor;
}

/** The user's answers to requests for approval, in the message that asks for them. */
export type GivenAnswers = { readonly message: string; readonly waitIds: readonly string[] };

/**
 * What follows after answers to requests for approval: the page has the beginning of the message, so it is given only what is
 * behind that, also if another tab has given the same answers long before. `from` is the place in the log before this request.
 */
export async function* continued(chat: WatchedChat, given: GivenAnswers, from: string): Chunks {
  const { runner, store, runId, signal } = chat;
  const asked = await exchangeOf(chat, given.message);
  if (asked === null) return;
  const chunks = chunksFor(chat, asked);
  let { cursor } = asked;
  for await (const event of runner.watch(runId, { after: cursor, follow: false, signal })) {
    const isAnswer = event.type === "wait.answered" && given.waitIds.includes(event.waitId);
    if (isAnswer || isBehind(event, from)) break;
    // It waited for the answers that have come since.
    if (event.type !== "run.waiting") chunks.apply(event);
    if ("cursor" in event) cursor = event.cursor;
  }
  yield* chunks.startAgain(runId);
  const open = await store.listWaits(runId, { open: true });
  if (chunks.asksUser(open.map(({ waitId }) => waitId))) yield* chunks.waitForUser();
  else yield* follow(chat, chunks, cursor);
}

function isBehind(event: WatchEvent, cursor: string): boolean {
  const { runId } = event;
  return "cursor" in event && placeOf(runId, event.cursor).seq > placeOf(runId, cursor).seq;
}
