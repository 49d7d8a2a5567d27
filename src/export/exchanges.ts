import type { Json } from "../core/json.ts";
import { filesIn, storedParts, textOf, writtenIn } from "../core/message.ts";
import { type Amount, addAmount, NOTHING } from "../core/usage/usage.ts";
import type {
  ExchangeRecord,
  MessageRecord,
  ModelCallRecord,
  StoreReader,
  ToolCallRecord,
  TurnRecord,
} from "../store/store.ts";
import { everyRecord, RECORDS_PER_PAGE } from "./record-pages.ts";

/** What a person said in an exchange. */
type SaidText = {
  /** The sender's own id of the message; null for the input of the conversation. */
  readonly messageId: string | null;
  readonly text: string;
  readonly sentBy: string;
  readonly sentAt: number;
};

/** An exchange of a conversation with its turns, its calls and its cost. */
export type ExchangeFigures = ExchangeRecord & {
  /** The text of its last committed turn; null if it has none. */
  readonly answer: string | null;
  readonly turns: number;
  readonly calls: readonly Pick<ToolCallRecord, "toolCallId" | "tool" | "request" | "status">[];
  readonly charged: Amount;
};

/** The same, with what was said in it. */
export type ExchangeStory = ExchangeFigures & { readonly said: readonly SaidText[] };

/** Every exchange of a run, in order, a page at a time. */
export async function* exchangeStories(
  store: StoreReader,
  runId: string,
): AsyncGenerator<ExchangeStory, void, undefined> {
  for await (const page of pagesOf(exchangesOf(store, runId))) yield* await storiesOf(store, runId, page);
}

/** The last exchanges of a run, and how many there are. */
export async function lastExchanges(
  store: StoreReader,
  runId: string,
  most: number,
): Promise<{ readonly count: number; readonly last: readonly ExchangeStory[] }> {
  let last: readonly ExchangeRecord[] = [];
  let count = 0;
  for await (const page of pagesOf(exchangesOf(store, runId))) {
    count += page.length;
    last = [...last, ...page];
    last = last.slice(Math.max(0, last.length - most));
  }
  return { count, last: await storiesOf(store, runId, last) };
}

/** One exchange of a step; null if there is none of this number. */
export async function exchangeFigures(
  store: StoreReader,
  runId: string,
  { stepPath, exchange }: Pick<ExchangeRecord, "stepPath" | "exchange">,
): Promise<ExchangeFigures | null> {
  const range = { after: { stepPath, exchange: exchange - 1 }, limit: 1 };
  const [found] = await store.listExchanges(runId, range);
  return found?.stepPath === stepPath && found.exchange === exchange ? figuresOf(store, runId, found) : null;
}

function exchangesOf(store: StoreReader, runId: string): AsyncGenerator<ExchangeRecord, void, undefined> {
  return everyRecord<ExchangeRecord>((range) => store.listExchanges(runId, range));
}

async function* pagesOf<T>(records: AsyncIterable<T>): AsyncGenerator<readonly T[], void, undefined> {
  let page: T[] = [];
  for await (const record of records) {
    page.push(record);
    if (page.length < RECORDS_PER_PAGE) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}

async function storiesOf(
  store: StoreReader,
  runId: string,
  exchanges: readonly ExchangeRecord[],
): Promise<readonly ExchangeStory[]> {
  const messages = await messagesByExchange(store, runId, exchanges);
  const stories: ExchangeStory[] = [];
  for (const exchange of exchanges)
    stories.push(await storyOf(store, runId, exchange, messages.get(placeOf(exchange)) ?? []));
  return stories;
}

async function storyOf(
  store: StoreReader,
  runId: string,
  exchange: ExchangeRecord,
  messages: readonly MessageRecord[],
): Promise<ExchangeStory> {
  const said = messages.length === 0 ? await inputOf(store, runId, exchange) : messages.map(saidIn);
  return { ...(await figuresOf(store, runId, exchange)), said };
}

async function figuresOf(
  store: StoreReader,
  runId: string,
  exchange: ExchangeRecord,
): Promise<ExchangeFigures> {
  const turns = await turnsOf(store, runId, exchange);
  const last = turns.findLast(({ committed }) => committed);
  const answer = last === undefined ? "" : textOf(last.response.content);
  return {
    ...exchange,
    answer: answer.trim() === "" ? null : answer,
    turns: turns.length,
    calls: turns.flatMap(({ calls }) =>
      calls.map(({ toolCallId, tool, request, status }) => ({ toolCallId, tool, request, status })),
    ),
    charged: await chargedFor(store, runId, exchange),
  };
}

function placeOf({ stepPath, exchange }: { readonly stepPath: string; readonly exchange: number }): string {
  return `${stepPath}#${exchange}`;
}

/** A message says which exchange took it, and not the other way round. */
async function messagesByExchange(
  store: StoreReader,
  runId: string,
  exchanges: readonly ExchangeRecord[],
): Promise<ReadonlyMap<string, readonly MessageRecord[]>> {
  const found = new Map<string, MessageRecord[]>(exchanges.map((each) => [placeOf(each), []]));
  if (found.size === 0) return found;
  for (let after = 0; ; ) {
    const page = await store.listMessages(runId, { after, limit: RECORDS_PER_PAGE });
    for (const message of page)
      if (message.event === null && message.takenBy !== null)
        found.get(placeOf(message.takenBy))?.push(message);
    const last = page.at(-1);
    if (last === undefined || page.length < RECORDS_PER_PAGE) return found;
    after = last.messageNo;
  }
}

function saidIn({ id, body, sentBy, sentAt }: MessageRecord): SaidText {
  return { messageId: id, text: saidText(body), sentBy, sentAt };
}

/** The text of a message. */
export function saidText(body: Json): string {
  if (typeof body === "string") return body;
  if (storedParts(body) === null) return JSON.stringify(body);
  const files = filesIn(body).map(({ filename, mediaType }) => `[${filename ?? mediaType}]`);
  return [writtenIn(body), ...files].filter((text) => text !== "").join(" ");
}

/** The first exchange of a conversation may begin with its input, without a message. */
async function inputOf(
  store: StoreReader,
  runId: string,
  { stepPath, sentBy, beganAt }: ExchangeRecord,
): Promise<readonly SaidText[]> {
  const steps = await store.listSteps(runId);
  const input = steps.find(({ path }) => path === stepPath)?.input ?? null;
  return input === null ? [] : [{ messageId: null, text: saidText(input), sentBy, sentAt: beganAt }];
}

/** The turns of an exchange. One without a committed turn has none: the next exchange uses its turn again. */
async function turnsOf(
  store: StoreReader,
  runId: string,
  { stepPath, firstTurn, lastTurn, endedAt }: ExchangeRecord,
): Promise<readonly TurnRecord[]> {
  if (endedAt !== null && lastTurn === null) return [];
  const limit = lastTurn === null ? RECORDS_PER_PAGE : Math.max(1, lastTurn - firstTurn + 1);
  const turns = await store.listTurns(runId, { after: { stepPath, turnIndex: firstTurn - 1 }, limit });
  return turns.filter(
    (turn) => turn.stepPath === stepPath && turn.turnIndex <= (lastTurn ?? Number.POSITIVE_INFINITY),
  );
}

/**
 * What the model calls of an exchange were charged. After a turn without a response, which the next exchange uses again,
 * the time of a call decides.
 */
async function chargedFor(store: StoreReader, runId: string, exchange: ExchangeRecord): Promise<Amount> {
  const { stepPath, firstTurn } = exchange;
  const after = { stepPath, turnIndex: firstTurn - 1, attempt: Number.MAX_SAFE_INTEGER };
  let charged = NOTHING;
  const calls = everyRecord<ModelCallRecord>((range) => store.listModelCalls(runId, { after, ...range }));
  for await (const call of calls) {
    if (call.stepPath !== stepPath || isLater(call, exchange)) break;
    if (call.charge !== null && call.openedAt >= exchange.beganAt)
      charged = addAmount(charged, call.charge.amount);
  }
  return charged;
}

function isLater(
  { turnIndex, openedAt }: ModelCallRecord,
  { lastTurn, endedAt, firstTurn }: ExchangeRecord,
): boolean {
  if (endedAt === null || turnIndex <= (lastTurn ?? firstTurn - 1)) return false;
  return openedAt >= endedAt;
}
