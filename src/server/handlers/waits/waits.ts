import { waitDocument } from "../../documents/wait-documents.ts";
import type { Handlers } from "../../handler.ts";
import { requireRunOfWait } from "../../scope/run-scope.ts";
import { personOf } from "../acting-person.ts";
import type { ServerParts } from "../server-parts.ts";
import { answered, assertApprovable, assertShown } from "./answering.ts";
import { assertOtherPerson, readWaitDetail, requireTrustedWait, requireWait } from "./wait-detail.ts";
import { readWaitPage } from "./wait-page.ts";

type WaitOperation = "listWaits" | "getWait" | "approveWait" | "denyWait" | "answerWait";

/** The questions of runs to people, and their answers. An answer is a row: the run continues when a worker takes it. */
export function waitHandlers(parts: ServerParts): Handlers<WaitOperation> {
  const { store, clock } = parts;
  return {
    listWaits: async ({ query }, { principal }) => ({
      status: 200,
      body: await readWaitPage(parts, principal, query),
    }),

    getWait: async ({ params: { waitId } }, { principal }) => {
      const run = await requireRunOfWait(store, principal, waitId);
      const wait = await requireTrustedWait(store, waitId);
      return { status: 200, body: await readWaitDetail(store, wait, run, principal, clock.now()) };
    },

    approveWait: async ({ params: { waitId }, body: { argumentsHash } }, { principal }) => {
      const run = await requireRunOfWait(store, principal, waitId);
      const shown = await requireWait(store, waitId);
      assertApprovable(shown);
      assertShown(shown, argumentsHash);
      assertOtherPerson(shown, run, principal, clock.now());
      const wait = await answered(store, waitId, () => store.approve(waitId, personOf(principal)));
      return { status: 200, body: waitDocument(wait, run.pipeline) };
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
  };
}
