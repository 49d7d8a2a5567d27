import { isoTime } from "../../../export/figures.ts";
import { attemptDocument, eventDocument } from "../../documents/ledger-documents.ts";
import type { Handlers } from "../../handler.ts";
import { requireRun } from "../../scope/run-scope.ts";
import type { ServerParts } from "../server-parts.ts";

/** The log of a run, its claims, and its session. */
export function logHandlers({
  store,
  clock,
}: ServerParts): Handlers<"listAttempts" | "getSession" | "listEvents"> {
  return {
    listAttempts: async ({ params: { runId } }, { principal }) => {
      await requireRun(store, principal, runId);
      const attempts = await store.listAttempts(runId);
      return { status: 200, body: { items: attempts.map(attemptDocument) } };
    },

    getSession: async ({ params: { runId } }, { principal }) => {
      await requireRun(store, principal, runId);
      const slices = await store.readSession(runId);
      const body = { slices: slices.map(({ name, kind, values }) => ({ name, kind, values })) };
      return { status: 200, body };
    },

    /** The numbers of events are places of their own: a page that has lost some asks with the last that it knows. */
    listEvents: async ({ params: { runId }, query: { after, limit } }, { principal }) => {
      await requireRun(store, principal, runId);
      const events = await store.listEvents(runId, { after, limit: limit + 1 });
      const shown = events.slice(0, limit);
      const isMore = events.length > shown.length;
      return {
        status: 200,
        body: {
          items: shown.map(eventDocument),
          nextCursor: isMore ? String(shown.at(-1)?.seq ?? after) : null,
          asOf: isoTime(clock.now()),
        },
      };
    },
  };
}
