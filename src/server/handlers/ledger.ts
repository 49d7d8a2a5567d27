import { z } from "zod";
import { isoTime } from "../../export/figures.ts";
import {
  attemptDocument,
  checkpointDocument,
  eventDocument,
  messageDocument,
  modelCallDocument,
  stepDocument,
  turnDocument,
} from "../documents/ledger-documents.ts";
import { waitDocument } from "../documents/wait-documents.ts";
import type { Handlers } from "../handler.ts";
import { requireRun } from "../scope/run-scope.ts";
import { filteredCalls } from "./call-filter.ts";
import { readListPage } from "./list-page.ts";
import type { ServerParts } from "./server-parts.ts";

type LedgerOperation =
  | "listSteps"
  | "listTurns"
  | "listCalls"
  | "listModelCalls"
  | "listRunWaits"
  | "listMessages"
  | "listCheckpoints"
  | "listAttempts"
  | "getSession"
  | "listEvents";

const ofTurn = { stepPath: z.string(), turnIndex: z.int() };

/** The lists of what is stored of one run. */
export function ledgerHandlers({ store, clock }: ServerParts): Handlers<LedgerOperation> {
  return {
    listSteps: async ({ params: { runId }, query }, { principal }) => {
      await requireRun(store, principal, runId);
      const body = await readListPage({
        list: { list: "steps", runId },
        query,
        place: z.object({ path: z.string() }),
        read: (range) => store.listSteps(runId, range),
        placeOf: ({ path }) => ({ path }),
        document: stepDocument,
        now: clock.now(),
      });
      return { status: 200, body };
    },

    listTurns: async ({ params: { runId }, query }, { principal }) => {
      await requireRun(store, principal, runId);
      const body = await readListPage({
        list: { list: "turns", runId },
        query,
        place: z.object(ofTurn),
        read: (range) => store.listTurns(runId, range),
        placeOf: ({ stepPath, turnIndex }) => ({ stepPath, turnIndex }),
        document: turnDocument,
        now: clock.now(),
      });
      return { status: 200, body };
    },

    listCalls: async ({ params: { runId }, query }, { principal }) => {
      await requireRun(store, principal, runId);
      return { status: 200, body: await filteredCalls(store, runId, query, clock.now()) };
    },

    listModelCalls: async ({ params: { runId }, query }, { principal }) => {
      await requireRun(store, principal, runId);
      const body = await readListPage({
        list: { list: "model-calls", runId },
        query,
        place: z.object({ ...ofTurn, attempt: z.int() }),
        read: (range) => store.listModelCalls(runId, range),
        placeOf: ({ stepPath, turnIndex, attempt }) => ({ stepPath, turnIndex, attempt }),
        document: modelCallDocument,
        now: clock.now(),
      });
      return { status: 200, body };
    },

    listRunWaits: async ({ params: { runId }, query }, { principal }) => {
      const { pipeline } = await requireRun(store, principal, runId);
      const body = await readListPage({
        list: { list: "waits", runId },
        query,
        place: z.object({ waitId: z.string() }),
        read: (range) => store.listWaits(runId, range),
        placeOf: ({ waitId }) => ({ waitId }),
        document: (wait) => waitDocument(wait, pipeline),
        now: clock.now(),
      });
      return { status: 200, body };
    },

    listMessages: async ({ params: { runId }, query }, { principal }) => {
      await requireRun(store, principal, runId);
      const body = await readListPage({
        list: { list: "messages", runId },
        query,
        place: z.object({ messageNo: z.int() }),
        read: ({ after, limit }) => store.listMessages(runId, { after: after?.messageNo ?? 0, limit }),
        placeOf: ({ messageNo }) => ({ messageNo }),
        document: messageDocument,
        now: clock.now(),
      });
      return { status: 200, body };
    },

    listCheckpoints: async ({ params: { runId }, query }, { principal }) => {
      await requireRun(store, principal, runId);
      const body = await readListPage({
        list: { list: "checkpoints", runId },
        query,
        place: z.object({ checkpoint: z.int() }),
        read: (range) => store.listCheckpoints(runId, range),
        placeOf: ({ checkpoint }) => ({ checkpoint }),
        document: checkpointDocument,
        now: clock.now(),
      });
      return { status: 200, body };
    },

    listAttempts: async ({ params: { runId } }, { principal }) => {
      await requireRun(store, principal, runId);
      const attempts = await store.listAttempts(runId);
      return { status: 200, body: { items: attempts.map(attemptDocument) } };
    },

    getSession: async ({ params: { runId } }, { principal }) => {
      await requireRun(store, principal, runId);
      const slices = await store.readSession(runId);
      return {
        status: 200,
        body: { slices: slices.map(({ name, kind, values }) => ({ name, kind, values })) },
      };
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
