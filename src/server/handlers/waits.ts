import { AlreadySettledError } from "../../core/errors.ts";
import { waitDocument } from "../documents/wait-documents.ts";
import type { Handlers } from "../handler.ts";
import { notFound, requireRunOfCall, requireRunOfWait } from "../scope/run-scope.ts";
import { personOf } from "./acting-person.ts";
import { answered, assertShown, settledProblem } from "./answering.ts";
import { readCallDetail } from "./call-detail.ts";
import type { ServerParts } from "./server-parts.ts";
import { readWaitDetail, requireWait } from "./wait-detail.ts";
import { readWaitPage } from "./wait-page.ts";

type WaitOperation =
  | "listWaits"
  | "getWait"
  | "approveWait"
  | "denyWait"
  | "answerWait"
  | "getCall"
  | "settleCall";

/** The questions of runs to people, and their answers. An answer is a row: the run continues when a worker takes it. */
export function waitHandlers(parts: ServerParts): Handlers<WaitOperation> {
  const { store, clock } = parts;

  const requireCall = async (callId: string, runId: string) => {
    const call = await store.getToolCall(callId);
    if (call === null) throw notFound("tool_call", callId);
    return readCallDetail(store, runId, call);
  };

  /** The wait that settled the call, if there is one: the problem then says who answered it. */
  const answerAbout = async (runId: string, callId: string) =>
    (await store.listWaits(runId)).findLast(
      ({ toolCallId, status }) => toolCallId === callId && status === "answered",
    ) ?? null;

  return {
    listWaits: async ({ query }, { principal }) => ({
      status: 200,
      body: await readWaitPage(parts, principal, query),
    }),

    getWait: async ({ params: { waitId } }, { principal }) => {
      const run = await requireRunOfWait(store, principal, waitId);
      const wait = await requireWait(store, waitId);
      return { status: 200, body: await readWaitDetail(store, wait, run, principal, clock.now()) };
    },

    approveWait: async ({ params: { waitId }, body: { argumentsHash } }, { principal }) => {
      const { pipeline } = await requireRunOfWait(store, principal, waitId);
      assertShown(await requireWait(store, waitId), argumentsHash);
      const wait = await answered(store, waitId, () => store.approve(waitId, personOf(principal)));
      return { status: 200, body: waitDocument(wait, pipeline) };
    },

    denyWait: async ({ params: { waitId }, body: { why } }, { principal }) => {
      const { pipeline } = await requireRunOfWait(store, principal, waitId);
      const wait = await answered(store, waitId, () => store.deny(waitId, why, personOf(principal)));
      return { status: 200, body: waitDocument(wait, pipeline) };
    },

    answerWait: async ({ params: { waitId }, body: { value } }, { principal }) => {
      const { pipeline } = await requireRunOfWait(store, principal, waitId);
      const wait = await answered(store, waitId, () => store.answer(waitId, value, personOf(principal)));
      return { status: 200, body: waitDocument(wait, pipeline) };
    },

    getCall: async ({ params: { callId } }, { principal }) => {
      const { runId } = await requireRunOfCall(store, principal, callId);
      return { status: 200, body: await requireCall(callId, runId) };
    },

    settleCall: async ({ params: { callId }, body }, { principal }) => {
      const { runId } = await requireRunOfCall(store, principal, callId);
      try {
        await store.settle(callId, body, personOf(principal));
      } catch (error) {
        if (!AlreadySettledError.isInstance(error)) throw error;
        throw settledProblem(error, await answerAbout(runId, callId));
      }
      return { status: 200, body: await requireCall(callId, runId) };
    },
  };
}
