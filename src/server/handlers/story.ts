import type { Handlers } from "../handler.ts";
import type { RunAccounts } from "./run-accounts.ts";
import { requireRun } from "../scope/run-scope.ts";
import type { ServerParts } from "./server-parts.ts";
import { timelineDocument } from "../documents/timeline-document.ts";

/** What happened in a run, told for people. */
export function storyHandlers(
  { store, clock }: ServerParts,
  accounts: RunAccounts,
): Handlers<"getTimeline"> {
  return {
    getTimeline: async ({ params: { runId }, query: { from, to, minMs } }, { principal }) => {
      await requireRun(store, principal, runId);
      const now = clock.now();
      const timeline = await accounts.storyOf(runId).timeline({
        now,
        ...(from === undefined ? {} : { from }),
        ...(to === undefined ? {} : { to }),
        ...(minMs === undefined ? {} : { minMs }),
      });
      return { status: 200, body: timelineDocument(timeline, now) };
    },
  };
}
