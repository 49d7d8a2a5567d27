import type { UIMessageChunk } from "ai";
import type { Runner } from "../../../engine/runner/runner.ts";
import type { Store } from "../../../store/store.ts";
import { type ExchangeStart, exchangesBackwards, findExchange, lastExchange } from "./chat-exchanges.ts";
import { ChatProblem } from "./chat-problem.ts";
import { assistantMessageId, type UIChunkOptions, UIChunks } from "./ui-chunks.ts";
import { wholeChunk } from "./user-parts.ts";

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
  const start = await findExchange(chat.store, chat.runId, exchange);
  yield* follow(chat, chunksFor(chat, start), start.cursor);
}

/** The exchange that takes the message, once one does. */
async function takenBy(
  { runner, runId, signal }: WatchedChat,
  messageId: string,
  from: string | null,
): Promise<{ readonly step: string; readonly exchange: number }> {
  const after = from === null ? {} : { after: from };
  let status = "";
  for await (const event of runner.watch(runId, { ...after, signal })) {
    const isTaken = event.type === "message.taken" && event.messageId === messageId;
    if (isTaken && event.exchange !== null) return { step: event.step, exchange: event.exchange };
    if (event.type === "message.withdrawn" && event.messageId === messageId) throw withdrawnMessage();
    if (event.type === "run.ended") status = event.status;
  }
  assertThere(signal);
  throw ended(status);
}

/** A stream that is not finished breaks: a page takes one that ends for a whole answer. */
function assertThere(signal: AbortSignal): void {
  if (signal.aborted) throw new Error("The request was aborted before the answer was over.");
}

export function withdrawnMessage(): ChatProblem {
  return new ChatProblem(409, "This message was withdrawn: send another one.");
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

/**
 * What is behind a place in the log, and then live, until the exchange is over or waits for the user. `mayAsk`: at that place
 * the run waited for the user, and may do so still.
 */
async function* follow(chat: WatchedChat, chunks: UIChunks, from: string, mayAsk = false): Chunks {
  const { runner, store, runId, signal } = chat;
  let after = from;
  for (let isAsked = mayAsk; ; isAsked = false) {
    if (!isAsked)
      for await (const event of runner.watch(runId, { after, signal })) {
        yield* whole(chat, chunks.apply(event));
        if ("cursor" in event) after = event.cursor;
        if (chunks.isOver) return;
        isAsked = chunks.takeQuestion();
        if (isAsked) break;
      }
    assertThere(signal);
    if (!isAsked) {
      yield* whole(chat, chunks.end());
      if (!chunks.isOver) throw new Error(`The log of run ${runId} ended before its exchange did.`);
      return;
    }
    // In a replay, the question may have been answered since: what is durable now decides.
    for await (const event of runner.watch(runId, { after, follow: false, signal })) {
      yield* whole(chat, chunks.apply(event));
      if ("cursor" in event) after = event.cursor;
    }
    const open = await store.listWaits(runId, { open: true });
    if (!chunks.isOver && chunks.asksUser(open.map(({ waitId }) => waitId))) yield* chunks.waitForUser();
    if (chunks.isOver) return;
  }
}

/** Chunks with what they refer to: files of messages, and results that are kept as blobs. */
async function* whole(chat: WatchedChat, chunks: readonly UIMessageChunk[]): Chunks {
  for (const chunk of chunks) yield await wholeChunk(chat, chunk);
}

/**
 * The whole of the newest exchange, or of that of the message `from`, and then live. If more exchanges have begun since, or
 * messages wait, theirs follow: each is a message of its own.
 */
export async function* resumed(chat: WatchedChat, from: string | null = null): Chunks {
  let last = await exchangeOf(chat, from);
  for (;;) {
    const chunks = last === null ? null : chunksFor(chat, last);
    if (chunks !== null && last !== null) yield* follow(chat, chunks, last.cursor);
    // A page that has to answer, or that shows an error, reads nothing behind it.
    if (chunks?.hasFinished === false || !(await hasMore(chat, last))) return;
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

/** The exchange that begins after this one; null if there will be none. */
async function nextExchange(chat: WatchedChat, last: ExchangeStart | null): Promise<ExchangeStart | null> {
  const { runner, store, runId, signal } = chat;
  const after = last === null ? {} : { after: last.cursor };
  for await (const event of runner.watch(runId, { ...after, signal })) {
    if (event.type === "message.withdrawn" && !(await hasMore(chat, last))) return null;
    if (event.type !== "exchange.begun") continue;
    const isNew = last === null || event.step !== last.step || event.exchange !== last.exchange;
    if (isNew) return findExchange(store, runId, event);
  }
  assertThere(signal);
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
 * What follows after answers to requests for approval. The page has the message up to where the run began to wait for them, and
 * is given what is behind that, also if another tab has given the same answers long before.
 */
export async function* continued(chat: WatchedChat, given: GivenAnswers): Chunks {
  const { runner, runId, signal } = chat;
  const asked = await exchangeOf(chat, given.message);
  if (asked === null) return;
  const chunks = chunksFor(chat, asked);
  const opened = new Set<string>();
  let { cursor } = asked;
  for await (const event of runner.watch(runId, { after: cursor, follow: false, signal })) {
    chunks.apply(event);
    if ("cursor" in event) cursor = event.cursor;
    if (event.type === "wait.opened") opened.add(event.waitId);
    if (event.type === "run.waiting" && given.waitIds.every((waitId) => opened.has(waitId))) break;
  }
  chunks.takeQuestion();
  yield* chunks.startAgain(runId);
  yield* follow(chat, chunks, cursor, true);
}
