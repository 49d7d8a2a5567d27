import type { Json } from "../../../core/json.ts";
import type { RunRecord } from "../../../store/store.ts";
import type { Principal } from "../../principal.ts";
import { requireRun } from "../../scope/run-scope.ts";
import { type PagedList, readListPage } from "../list-page.ts";
import type { ServerParts } from "../server-parts.ts";

/** A list of what is stored of one run. */
export type RunList<T, Place, Document> = Pick<PagedList<T, Place, Document>, "place"> & {
  /** For its cursors. */
  readonly name: string;
  readonly read: (
    runId: string,
    range: { readonly after?: Place; readonly limit: number },
  ) => Promise<readonly T[]>;
  readonly placeOf: (item: T) => Place & Json;
  readonly document: (item: T, run: RunRecord) => Document;
};

type ListRequest = {
  readonly params: { readonly runId: string };
  readonly query: { readonly cursor?: string | undefined; readonly limit: number };
};

/** The handler of such a list. */
export function runListHandler<T, Place, Document>(
  { store, clock }: Pick<ServerParts, "store" | "clock">,
  { name, read, document, ...list }: RunList<T, Place, Document>,
) {
  return async (
    { params: { runId }, query }: ListRequest,
    { principal }: { readonly principal: Principal },
  ) => {
    const run = await requireRun(store, principal, runId);
    const body = await readListPage({
      ...list,
      list: { list: name, runId },
      query,
      read: (range) => read(runId, range),
      document: (item) => document(item, run),
      now: clock.now(),
    });
    return { status: 200 as const, body };
  };
}
