import { z } from "zod";
import {
  checkpointDocument,
  messageDocument,
  modelCallDocument,
  stepDocument,
  turnDocument,
} from "../../documents/ledger-documents.ts";
import { waitDocument } from "../../documents/wait-documents.ts";
import type { Handlers } from "../../handler.ts";
import { requireRun } from "../../scope/run-scope.ts";
import type { ServerParts } from "../server-parts.ts";
import { filteredCalls } from "./call-filter.ts";
import { runListHandler } from "./run-list.ts";

type LedgerOperation =
  | "listSteps"
  | "listTurns"
  | "listCalls"
  | "listModelCalls"
  | "listRunWaits"
  | "listMessages"
  | "listCheckpoints";

const ofTurn = { stepPath: z.string(), turnIndex: z.int() };

/** The lists of what is stored of one run, in pages. */
export function ledgerHandlers(parts: ServerParts): Handlers<LedgerOperation> {
  const { store, clock } = parts;
  return {
    listSteps: runListHandler(parts, {
      name: "steps",
      place: z.object({ path: z.string() }),
      read: (runId, range) => store.listSteps(runId, range),
      placeOf: ({ path }) => ({ path }),
      document: stepDocument,
    }),
    listTurns: runListHandler(parts, {
      name: "turns",
      place: z.object(ofTurn),
      read: (runId, range) => store.listTurns(runId, range),
      placeOf: ({ stepPath, turnIndex }) => ({ stepPath, turnIndex }),
      document: turnDocument,
    }),
    listCalls: async ({ params: { runId }, query }, { principal }) => {
      await requireRun(store, principal, runId);
      return { status: 200, body: await filteredCalls(store, runId, query, clock.now()) };
    },
    listModelCalls: runListHandler(parts, {
      name: "model-calls",
      place: z.object({ ...ofTurn, attempt: z.int() }),
      read: (runId, range) => store.listModelCalls(runId, range),
      placeOf: ({ stepPath, turnIndex, attempt }) => ({ stepPath, turnIndex, attempt }),
      document: modelCallDocument,
    }),
    listRunWaits: runListHandler(parts, {
      name: "waits",
      place: z.object({ waitId: z.string() }),
      read: (runId, range) => store.listWaits(runId, range),
      placeOf: ({ waitId }) => ({ waitId }),
      document: (wait, { pipeline }) => waitDocument(wait, pipeline),
    }),
    listMessages: runListHandler(parts, {
      name: "messages",
      place: z.object({ messageNo: z.int() }),
      read: (runId, { after, limit }) => store.listMessages(runId, { after: after?.messageNo ?? 0, limit }),
      placeOf: ({ messageNo }) => ({ messageNo }),
      document: messageDocument,
    }),
    listCheckpoints: runListHandler(parts, {
      name: "checkpoints",
      place: z.object({ checkpoint: z.int() }),
      read: (runId, range) => store.listCheckpoints(runId, range),
      placeOf: ({ checkpoint }) => ({ checkpoint }),
      document: checkpointDocument,
    }),
  };
}
