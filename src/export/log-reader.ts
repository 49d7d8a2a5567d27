import type { EventRecord, StoreReader } from "../store/store.ts";
import { betweenPages } from "./record-pages.ts";

const EVENTS_PER_PAGE = 500;

/** A part of a run's log: the events from one to another. */
export type LogPart = { readonly firstSeq: number; readonly lastSeq: number };

export const WHOLE_LOG: LogPart = { firstSeq: 1, lastSeq: Number.MAX_SAFE_INTEGER };

/** Reads the events of a run's log page by page, and can look ahead. */
export class LogReader {
  readonly #reader: StoreReader;
  readonly #runId: string;
  readonly #part: LogPart;
  #page: readonly EventRecord[] = [];
  #index = 0;

  constructor(reader: StoreReader, runId: string, part: LogPart = WHOLE_LOG) {
    this.#reader = reader;
    this.#runId = runId;
    this.#part = part;
  }

  async *events(): AsyncGenerator<EventRecord, void, undefined> {
    const { firstSeq, lastSeq } = this.#part;
    for await (const page of this.#pages(firstSeq - 1, lastSeq)) {
      this.#page = page;
      this.#index = 0;
      for (const event of page) {
        this.#index += 1;
        yield event;
      }
    }
  }

  /** The events after the last one that was yielded, even beyond the part. Events of later pages are read and not cached. */
  async *following(lastSeq: number): AsyncGenerator<EventRecord, void, undefined> {
    yield* this.#page.slice(this.#index);
    const last = this.#page.at(-1)?.seq ?? lastSeq;
    for await (const page of this.#pages(last, lastSeq)) yield* page;
  }

  async *#pages(last: number, lastSeq: number): AsyncGenerator<readonly EventRecord[], void, undefined> {
    for (let after = last; after < lastSeq; ) {
      const limit = Math.min(EVENTS_PER_PAGE, lastSeq - after);
      const page = await this.#reader.listEvents(this.#runId, { after, limit });
      yield page;
      if (page.length < limit) return;
      await betweenPages();
      after = page.at(-1)?.seq ?? lastSeq;
    }
  }
}
