import { setImmediate } from "node:timers/promises";

/** The range of one page of a list. */
export type PageRange<T> = { readonly after?: T; readonly limit: number };

/** A turn or a call may have some hundred kilobytes: a page of this many still fits into memory easily. */
export const RECORDS_PER_PAGE = 100;

/**
 * Every record of a list, in order, read page by page.
 *
 * @example
 * for await (const turn of everyRecord<TurnRecord>((range) => reader.listTurns(runId, range))) count(turn);
 */
export async function* everyRecord<T>(
  list: (range: PageRange<T>) => Promise<readonly T[]>,
): AsyncGenerator<T, void, undefined> {
  for (let after: T | undefined; ; ) {
    const page = await list({ limit: RECORDS_PER_PAGE, ...(after === undefined ? {} : { after }) });
    yield* page;
    after = page.at(-1);
    if (page.length < RECORDS_PER_PAGE) return;
    await betweenPages();
  }
}

/** Reads are synchronous: without this pause, no timer would fire and no lease would be renewed while a long run is read. */
export function betweenPages(): Promise<void> {
  return setImmediate();
}
