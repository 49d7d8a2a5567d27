import type { z } from "zod";
import type { Json } from "../../core/json.ts";
import { isoTime } from "../../export/figures.ts";
import { type ListIdentity, listCursor, placeInList } from "./list-cursor.ts";

/** A list that is read in pages. */
export type PagedList<T, Place, Document> = {
  /** What its cursors are bound to. */
  readonly list: ListIdentity;
  readonly query: { readonly cursor?: string | undefined; readonly limit: number };
  /** Of the place in a cursor. */
  readonly place: z.ZodType<Place>;
  readonly read: (range: { readonly after?: Place; readonly limit: number }) => Promise<readonly T[]>;
  readonly placeOf: (item: T) => Place & Json;
  readonly document: (item: T) => Document;
  /** The time of the server. */
  readonly now: number;
};

export type ListPage<Document> = {
  readonly items: readonly Document[];
  readonly nextCursor: string | null;
  readonly asOf: string;
};

/** A page of a list. One more item is read than is shown, so that the last page is known as such. */
export async function readListPage<T, Place, Document>(
  paged: PagedList<T, Place, Document>,
): Promise<ListPage<Document>> {
  const { list, query, now } = paged;
  const after = placeInList(query.cursor, list, paged.place);
  const items = await paged.read({ limit: query.limit + 1, ...(after === undefined ? {} : { after }) });
  const shown = items.slice(0, query.limit);
  const last = shown.at(-1);
  const isMore = items.length > shown.length && last !== undefined;
  return {
    items: shown.map(paged.document),
    nextCursor: isMore ? listCursor(paged.placeOf(last), list) : null,
    asOf: isoTime(now),
  };
}
