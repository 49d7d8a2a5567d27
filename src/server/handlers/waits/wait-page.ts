import { z } from "zod";
import { asksPeople, type WaitKind } from "../../../core/wait.ts";
import { waitDocument } from "../../documents/wait-documents.ts";
import type { Principal } from "../../principal.ts";
import { scopeKey } from "../../scope/run-scope.ts";
import { readListPage } from "../list-page.ts";
import type { ServerParts } from "../server-parts.ts";

type WaitQuery = {
  readonly status: "open" | "answered";
  readonly kind?: readonly WaitKind[] | undefined;
  readonly runId?: string | undefined;
  readonly cursor?: string | undefined;
  readonly limit: number;
};

const KINDS: { readonly [K in WaitKind]: true } = {
  approval: true,
  possible_duplicate: true,
  in_doubt: true,
  escalation: true,
  question: true,
  budget: true,
  time: true,
  message: true,
};
const ASKING = (Object.keys(KINDS) as WaitKind[]).filter(asksPeople);

/** A page of the waits of all runs in the scope: the open ones oldest first, the answered ones newest first. */
export async function readWaitPage({ store, clock }: ServerParts, { scope }: Principal, query: WaitQuery) {
  const { status, kind, runId, cursor, limit } = query;
  const kinds = kind ?? ASKING;
  const pipelines = new Map<string, string>();
  const page = await readListPage({
    list: { list: "waits", scope: scopeKey(scope), status, kind, runId },
    query: { cursor, limit },
    place: z.object({ at: z.int(), waitId: z.string() }),
    read: async ({ after, limit: most }) => {
      const range = { ...scope, kinds, limit: most, ...(runId === undefined ? {} : { runId }) };
      const waits =
        status === "open"
          ? await store.listOpenWaits({
              ...range,
              ...(after === undefined ? {} : { after: { createdAt: after.at, waitId: after.waitId } }),
            })
          : await store.listAnsweredWaits({
              ...range,
              since: 0,
              ...(after === undefined ? {} : { after: { answeredAt: after.at, waitId: after.waitId } }),
            });
      for (const { runId: id } of waits)
        if (!pipelines.has(id)) pipelines.set(id, (await store.getRun(id))?.pipeline ?? "");
      return waits;
    },
    placeOf: ({ answeredAt, createdAt, waitId }) => ({ at: answeredAt ?? createdAt, waitId }),
    document: (wait) => waitDocument(wait, pipelines.get(wait.runId) ?? ""),
    now: clock.now(),
  });
  return page;
}
