import { isoTime } from "../../export/figures.ts";
import type { LogPart } from "../../export/log-reader.ts";
import { RecordLookup } from "../../export/record-lookup.ts";
import { IncidentReader } from "../../export/run-incidents.ts";
import { requireRun } from "../../export/run-outline.ts";
import type { StoreReader } from "../../store/store.ts";
import { cursorOf, placeAt } from "../cursor.ts";
import { itemsOf, type TranscriptRecords } from "./incident-items.ts";
import type { TranscriptItem } from "./transcript-items.ts";

/** Which part of a transcript is read: the newest items, those before a cursor, or those after one. */
export type TranscriptRange = {
  readonly before?: string;
  readonly after?: string;
  /** 50 by default. The items of one event stay together, so that a page may have a few more. */
  readonly limit?: number;
};

/** A part of a transcript. */
export type TranscriptPage = {
  /** The oldest first. */
  readonly items: readonly TranscriptItem[];
  /** The `before` of the page with older items; null if there are none. */
  readonly older: string | null;
  /** The `after` of what comes next, now or when the run has grown. */
  readonly newer: string;
  /** Nothing came after this page when it was read. */
  readonly isNewest: boolean;
};

const LIMIT = 50;

/** Most turns are two or three events: so many make a page in one or two reads. */
const EVENTS_AT_ONCE = 200;

/**
 * A page of a run's conversation, in the order of its log. Without a cursor it is the newest page, since a reader opens a
 * conversation at its end. Reads no more of the log than the page needs, however long the run is.
 *
 * @example
 * const newest = await readTranscriptPage(store, "q-1", { limit: 50 });
 * if (newest.older !== null) await readTranscriptPage(store, "q-1", { before: newest.older });
 */
export async function readTranscriptPage(
  store: StoreReader,
  runId: string,
  { before, after, limit = LIMIT }: TranscriptRange = {},
): Promise<TranscriptPage> {
  const lastSeq = (await store.readProgress([runId])).get(runId) ?? 0;
  const reader = await PageReader.open(store, runId, lastSeq);
  if (after !== undefined) return pageAfter(reader, seqIn("after", after), lastSeq, limit);
  return pageBefore(reader, before === undefined ? lastSeq + 1 : seqIn("before", before), lastSeq, limit);
}

/** The items of one event. */
type EventItems = { readonly seq: number; readonly items: readonly TranscriptItem[] };

async function pageBefore(
  reader: PageReader,
  before: number,
  lastSeq: number,
  limit: number,
): Promise<TranscriptPage> {
  let found: readonly EventItems[] = [];
  let first = Math.min(before, lastSeq + 1);
  while (first > 1 && countOf(found) < limit) {
    const lastRead = first - 1;
    first = Math.max(1, first - EVENTS_AT_ONCE);
    found = [...(await reader.read({ firstSeq: first, lastSeq: lastRead })), ...found];
  }
  const shown = lastEvents(found, limit);
  const oldest = shown.length < found.length ? shown[0]?.seq : undefined;
  const newest = Math.min(before - 1, lastSeq);
  return {
    items: shown.flatMap(({ items }) => items),
    older: oldest === undefined ? (first > 1 ? cursorOf(first) : null) : cursorOf(oldest),
    newer: cursorOf(newest),
    isNewest: newest === lastSeq,
  };
}

async function pageAfter(
  reader: PageReader,
  after: number,
  lastSeq: number,
  limit: number,
): Promise<TranscriptPage> {
  const found: EventItems[] = [];
  let last = after;
  while (last < lastSeq && countOf(found) < limit) {
    const firstSeq = last + 1;
    last = Math.min(lastSeq, last + EVENTS_AT_ONCE);
    found.push(...(await reader.read({ firstSeq, lastSeq: last })));
  }
  const shown = firstEvents(found, limit);
  const newest = shown.length < found.length ? (shown.at(-1)?.seq ?? after) : last;
  return {
    items: shown.flatMap(({ items }) => items),
    older: after >= 1 ? cursorOf(after + 1) : null,
    newer: cursorOf(newest),
    isNewest: newest >= lastSeq,
  };
}

function countOf(events: readonly EventItems[]): number {
  return events.reduce((count, { items }) => count + items.length, 0);
}

/** As many of the first events as have `limit` items, and at least one. */
function firstEvents(events: readonly EventItems[], limit: number): readonly EventItems[] {
  let count = 0;
  const end = events.findIndex(({ items }, index) => {
    count += items.length;
    return count > limit && index > 0;
  });
  return end === -1 ? events : events.slice(0, end);
}

function lastEvents(events: readonly EventItems[], limit: number): readonly EventItems[] {
  return firstEvents(events.toReversed(), limit).toReversed();
}

/** Reads the items of a part of the log. */
class PageReader {
  readonly #store: StoreReader;
  readonly #known: TranscriptRecords;
  readonly #lastSeq: number;

  private constructor(store: StoreReader, known: TranscriptRecords, lastSeq: number) {
    this.#store = store;
    this.#known = known;
    this.#lastSeq = lastSeq;
  }

  static async open(store: StoreReader, runId: string, lastSeq: number): Promise<PageReader> {
    const run = await requireRun(store, runId);
    const [attempts, lineages] = [await store.listAttempts(runId), await store.listLineages(runId)];
    const records = new RecordLookup(store, runId);
    return new PageReader(store, { run, attempts, lineages, records }, lastSeq);
  }

  /** Only events with items. An incident reader that begins in the middle does not know how often a call was started, which no item has. */
  async read(part: LogPart): Promise<readonly EventItems[]> {
    const { run, records } = this.#known;
    const incidents = new IncidentReader(this.#store, { run, lastSeq: this.#lastSeq }, records);
    const found: EventItems[] = [];
    for await (const incident of incidents.read(part)) {
      const { seq, at } = incident.event;
      const contents = await itemsOf(incident, this.#known);
      const items = contents.map((content, i) => ({
        ...content,
        id: `${seq}.${i + 1}`,
        seq,
        at: isoTime(at),
      }));
      if (items.length > 0) found.push({ seq, items });
    }
    return found;
  }
}

function seqIn(name: string, cursor: string): number {
  return placeAt(name, cursor, ([seq]) => (typeof seq === "number" ? seq : null));
}
