import { z } from "zod";
import { asksPeople, type WaitKind } from "../../../core/wait.ts";
import type { StoreReader, WaitRecord } from "../../../store/store.ts";
import { waitDocument } from "../../documents/wait-documents.ts";
import type { AccessScope, Principal } from "../../principal.ts";
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

/** The answers of people that can be looked at in a list: the newest ones. */
const MOST_ANSWERED = 1_000;

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
      const waits =
        status === "open"
          ? await store.listOpenWaits({
              ...scope,
              kinds,
              limit: most,
              ...(runId === undefined ? {} : { runId }),
              ...(after === undefined ? {} : { after: { createdAt: after.at, waitId: after.waitId } }),
            })
          : answeredBehind(await answeredIn(store, scope, kinds, runId), after?.waitId).slice(0, most);
      for (const { runId: id } of waits)
        if (!pipelines.has(id)) pipelines.set(id, (await store.getRun(id))?.pipeline ?? "");
      return waits;
    },
    placeOf: (wait) => ({ at: wait.createdAt, waitId: wait.waitId }),
    document: (wait) => waitDocument(wait, pipelines.get(wait.runId) ?? ""),
    now: clock.now(),
  });
  return page;
}

async function answeredIn(
  store: Pick<StoreReader, "listAnsweredWaits">,
  scope: AccessScope,
  kinds: readonly WaitKind[],
  runId: string | undefined,
): Promise<readonly WaitRecord[]> {
  const waits = await store.listAnsweredWaits({ ...scope, since: 0, limit: MOST_ANSWERED });
  return waits.filter((wait) => kinds.includes(wait.kind) && (runId === undefined || wait.runId === runId));
}

/** Those behind the wait of this id; all if it is not among them any more. */
function answeredBehind(waits: readonly WaitRecord[], waitId: string | undefined): readonly WaitRecord[] {
  return waits.slice(waits.findIndex((wait) => wait.waitId === waitId) + 1);
}
