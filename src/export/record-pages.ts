import { setImmediate } from "node:timers/promises";

/** What a list is asked for a page at a time. */
export type PageRange<T> = { readonly after?: T; readonly limit: number };

/** A turn or a call may have some hundred kilobytes: few enough that a page of them is no matter. */
export const RECORDS_A_PAGE = 100;

/**
 * Every record of a list, in its order, a page at a time.
 *
 * @example
 * for await (const turn of everyRecord<TurnRecord>((range) => reader.listTurns(runId, range))) count(turn);
 */
export async function* everyRecord<T>(
  list: (range: PageRange<T>) => Promise<readonly T[]>,
): AsyncGenerator<T, void, undefined> {
  for (let after: T | undefined; ; ) {
    const page = await list({ limit: RECORDS_A_PAGE, ...(after === undefined ? {} : { after }) });
    yield* page;
    after = page.at(-1);
    if (page.length < RECORDS_A_PAGE) return;
    await betweenPages();
  }
}

/** A read of a file comes at once: without this, a long run is read while no timer goes off, and no lease is renewed. */
export function betweenPages(): Promise<void> {
  return setImmediate();
}
