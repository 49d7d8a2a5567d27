import { z } from "zod";
import type { RunFilter, RunSummary, StoreReader } from "../../../store/store.ts";
import { runHeadDocument } from "../../documents/run-head-document.ts";
import type { Handlers } from "../../handler.ts";
import { runFilterIn } from "../../scope/run-filter.ts";
import { requireRun, scopeKey } from "../../scope/run-scope.ts";
import { KeptReads } from "../kept-reads.ts";
import { readListPage } from "../list-page.ts";
import type { ServerParts } from "../server-parts.ts";
import type { RunAccounts } from "./run-accounts.ts";
import { readRun } from "./run-document.ts";

const NO_RUNS = {
  counts: {
    queued: 0,
    running: 0,
    interrupted: 0,
    waiting: 0,
    succeeded: 0,
    failed: 0,
    cancelled: 0,
    moved: 0,
  },
  total: 0,
  needsPerson: 0,
  isCapped: false,
};

/** What can be the beginning of a run id. */
const ID_PREFIX = /^[A-Za-z0-9][A-Za-z0-9._:@=+-]{0,127}$/;

/** Lists of runs, and one run at a glance. */
export function runHandlers(
  parts: ServerParts,
  accounts: RunAccounts,
): Handlers<"listRuns" | "countRuns" | "getRun"> {
  const { store, clock } = parts;
  const counts = new KeptReads(clock);

  return {
    listRuns: async ({ query: { cursor, limit, q, ...query } }, { principal, isContentHidden }) => {
      const now = clock.now();
      const filter = runFilterIn(principal.scope, query);
      let by: "id" | "text" | undefined;
      const body = await readListPage({
        list: { list: "runs", scope: scopeKey(principal.scope), q, ...query },
        query: { cursor, limit },
        place: z.object({ createdAt: z.int(), runId: z.string(), by: z.enum(["id", "text"]).optional() }),
        read: async ({ after, limit: most }) => {
          if (filter === null) return [];
          // A text that finds a run is in it: people who see no contents find runs by their id.
          const known = isContentHidden ? "id" : after?.by;
          const found = q === undefined ? { by: undefined, filter } : await searched(store, filter, q, known);
          by = found.by;
          return store.listRunSummaries({
            ...found.filter,
            limit: most,
            ...(after === undefined ? {} : { after }),
          });
        },
        placeOf: ({ createdAt, runId }: RunSummary) => ({
          createdAt,
          runId,
          ...(by === undefined ? {} : { by }),
        }),
        document: (run) => runHeadDocument(run, now),
        now,
      });
      return { status: 200, body };
    },

    countRuns: async (_, { principal }) => {
      const filter = runFilterIn(principal.scope);
      const count = async () => (filter === null ? NO_RUNS : store.countRuns(filter));
      return { status: 200, body: await counts.read(scopeKey(principal.scope), count) };
    },

    getRun: async ({ params: { runId } }, { principal }) => {
      const run = await requireRun(store, principal, runId);
      const body = await readRun(parts, accounts, run);
      // The status may change without an event: a lease expires.
      const etag = `W/"${body.head.eventSeq}-${body.head.status}-${body.head.leaseUntil ?? ""}"`;
      return { status: 200, body, headers: { etag } };
    },
  };
}

/** What is looked for is the beginning of an id if there is such a run, and else a text. */
async function searched(store: StoreReader, filter: RunFilter, q: string, by: "id" | "text" | undefined) {
  const byId = { by: "id", filter: { ...filter, idPrefix: q } } as const;
  const isFound = async () => (await store.listRunSummaries({ ...byId.filter, limit: 1 })).length > 0;
  const isId = by === "id" || (by === undefined && ID_PREFIX.test(q) && (await isFound()));
  return isId ? byId : ({ by: "text", filter: { ...filter, text: q } } as const);
}
