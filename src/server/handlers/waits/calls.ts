import { AlreadySettledError } from "../../../core/errors.ts";
import type { StoreReader, WaitRecord } from "../../../store/store.ts";
import type { Handlers } from "../../handler.ts";
import { requireRunOfCall } from "../../scope/run-scope.ts";
import { personOf } from "../acting-person.ts";
import type { ServerParts } from "../server-parts.ts";
import { settledProblem } from "./answering.ts";
import { readCallDetail } from "./call-detail.ts";

/** One tool call, and what a person knows of it if it is in doubt. */
export function callHandlers({ store }: ServerParts): Handlers<"getCall" | "settleCall"> {
  return {
    getCall: async ({ params: { callId } }, { principal }) => {
      const { runId } = await requireRunOfCall(store, principal, callId);
      return { status: 200, body: await readCallDetail(store, runId, callId) };
    },

    settleCall: async ({ params: { callId }, body }, { principal }) => {
      const { runId } = await requireRunOfCall(store, principal, callId);
      try {
        await store.settle(callId, body, personOf(principal));
      } catch (error) {
        if (!AlreadySettledError.isInstance(error)) throw error;
        throw settledProblem(error, await answerAbout(store, runId, callId));
      }
      return { status: 200, body: await readCallDetail(store, runId, callId) };
    },
  };
}

/** The wait that settled the call, which says who answered it; null if no person did. */
async function answerAbout(
  store: Pick<StoreReader, "listWaits">,
  runId: string,
  callId: string,
): Promise<WaitRecord | null> {
  const waits = await store.listWaits(runId);
  return waits.findLast((wait) => wait.toolCallId === callId && wait.status === "answered") ?? null;
}
