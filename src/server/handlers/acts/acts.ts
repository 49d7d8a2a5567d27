import { lookNow } from "../../../engine/run/run-lookers.ts";
import { isoTime } from "../../../export/figures.ts";
import type { Handlers } from "../../handler.ts";
import { requireRun } from "../../scope/run-scope.ts";
import { personOf } from "../acting-person.ts";
import { OneAtATime } from "../one-at-a-time.ts";
import type { ServerParts } from "../server-parts.ts";
import { actOnMany } from "./bulk.ts";
import { cancelRun } from "./cancel.ts";
import { forecastRun, hasWorkerFor, requestResume } from "./resume.ts";
import { sendMessage } from "./send-message.ts";

type ActOperation =
  | "forecastRun"
  | "verifyRun"
  | "resumeRun"
  | "cancelRun"
  | "sendMessage"
  | "stopRun"
  | "bulk";

/** What people do about runs. Each act is a row of the store: no worker needs to be there. */
export function actHandlers(parts: ServerParts): Handlers<ActOperation> {
  const { store, clock } = parts;
  const verifications = new OneAtATime(
    (runId) => `Run ${runId} is being verified already: ask again when that is done.`,
  );
  return {
    forecastRun: async ({ params: { runId }, body }, { principal }) => {
      const run = await requireRun(store, principal, runId);
      return { status: 200, body: await forecastRun(parts, run, body) };
    },

    verifyRun: async ({ params: { runId } }, { principal }) => {
      await requireRun(store, principal, runId);
      const { events, receipts, blobs, problems } = await verifications.run(runId, () => store.verify(runId));
      const verifiedAt = isoTime(clock.now());
      return { status: 200, body: { runId, events, receipts, blobs, problems, verifiedAt } };
    },

    resumeRun: async ({ params: { runId }, body }, { principal }) => {
      await requireRun(store, principal, runId);
      const run = await requestResume(parts, principal, runId, body);
      const hasWorker = await hasWorkerFor(parts, run);
      return { status: 202, body: { runId, outcome: "requested", hasWorker } };
    },

    cancelRun: async ({ params: { runId } }, { principal }) => {
      await requireRun(store, principal, runId);
      const outcome = await cancelRun(parts, principal, runId);
      const body = { runId, outcome };
      return outcome === "requested" ? { status: 202, body } : { status: 200, body };
    },

    sendMessage: async ({ params: { runId }, body }, { principal }) => {
      const run = await requireRun(store, principal, runId);
      return { status: 202, body: await sendMessage(parts, principal, run, body) };
    },

    stopRun: async ({ params: { runId } }, { principal }) => {
      await requireRun(store, principal, runId);
      const { kind } = await store.requestStop(runId, personOf(principal));
      lookNow(store, runId);
      return { status: 200, body: { stopped: kind === "requested" } };
    },

    bulk: async ({ body }, context) => {
      const { results, acts } = await actOnMany(parts, context, body);
      return { status: 200, body: { results }, acts };
    },
  };
}
