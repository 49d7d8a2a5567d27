import type { EventRecord, StoreReader } from "../store/store.ts";
import { betweenPages } from "./record-pages.ts";

const EVENTS_A_PAGE = 500;

/** Which part of a run's log: the events from one to another. */
export type LogPart = { readonly firstSeq: number; readonly lastSeq: number };

export const WHOLE_LOG: LogPart = { firstSeq: 1, lastSeq: Number.MAX_SAFE_INTEGER };

/** The events of a run's log, a page at a time, with a look at those that follow. */
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

  /** Those after the event that was given last, beyond the part too. What is not on its page is read for this, and not kept. */
  async *following(lastSeq: number): AsyncGenerator<EventRecord, void, undefined> {
    yield* this.#page.slice(this.#index);
    const last = this.#page.at(-1)?.seq ?? lastSeq;
    for await (const page of this.#pages(last, lastSeq)) yield* page;
  }

  async *#pages(last: number, lastSeq: number): AsyncGenerator<readonly EventRecord[], void, undefined> {
    for (let after = last; after < lastSeq; ) {
      const limit = Math.min(EVENTS_A_PAGE, lastSeq - after);
      const page = await this.#reader.listEvents(this.#runId, { after, limit });
      yield page;
      if (page.length < limit) return;
      await betweenPages();
      after = page.at(-1)?.seq ?? lastSeq;
    }
  }
}
