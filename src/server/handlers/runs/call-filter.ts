import { z } from "zod";
import { isoTime } from "../../../export/figures.ts";
import type { StoreReader, ToolCallRecord } from "../../../store/store.ts";
import { callDocument } from "../../documents/ledger-documents.ts";
import { listCursor, placeInList } from "../list-cursor.ts";
import type { ListPage } from "../list-page.ts";

type CallQuery = {
  readonly status?: readonly string[] | undefined;
  readonly tool?: string | undefined;
  readonly cursor?: string | undefined;
  readonly limit: number;
};

/** A filter may fit no call of a long run: a request looks at no more than this many, and its cursor continues there. */
const MOST_LOOKED_AT = 2_000;

const place = z.object({ stepPath: z.string(), turnIndex: z.int(), callIndex: z.int() });

/** A page of the calls of a run that fit the filter. It may have fewer than `limit` although others follow. */
export async function filteredCalls(
  store: Pick<StoreReader, "listToolCalls">,
  runId: string,
  { status, tool, cursor, limit }: CallQuery,
  now: number,
): Promise<ListPage<ReturnType<typeof callDocument>>> {
  const list = { list: "calls", runId, status, tool };
  const fits = (call: ToolCallRecord) =>
    (status === undefined || status.includes(call.status)) && (tool === undefined || call.tool === tool);
  const found: ToolCallRecord[] = [];
  let after = placeInList(cursor, list, place);
  for (let seen = 0; seen < MOST_LOOKED_AT; ) {
    const page = await store.listToolCalls(runId, {
      limit: limit + 1,
      ...(after === undefined ? {} : { after }),
    });
    for (const call of page) {
      if (found.length === limit && fits(call)) return pageTo(found, after);
      if (fits(call)) found.push(call);
      after = { stepPath: call.stepPath, turnIndex: call.turnIndex, callIndex: call.callIndex };
    }
    seen += page.length;
    if (page.length <= limit) return pageTo(found, undefined);
  }
  return pageTo(found, after);

  function pageTo(calls: readonly ToolCallRecord[], next: z.infer<typeof place> | undefined) {
    return {
      items: calls.map(callDocument),
      nextCursor: next === undefined ? null : listCursor(next, list),
      asOf: isoTime(now),
    };
  }
}
