import { z } from "zod";
import { compareRuns, compareTurns } from "../../../account/compare/compare-runs.ts";
import { readTranscriptPage } from "../../../account/transcript/transcript-page.ts";
import { comparedTurnDocument, comparisonDocument } from "../../documents/comparison-document.ts";
import { timelineDocument } from "../../documents/timeline-document.ts";
import { transcriptItemDocument } from "../../documents/transcript-document.ts";
import type { Handlers } from "../../handler.ts";
import { requireRun } from "../../scope/run-scope.ts";
import { listCursor, placeInList } from "../list-cursor.ts";
import type { ServerParts } from "../server-parts.ts";
import type { RunAccounts } from "./run-accounts.ts";

/** What happened in runs, as people read it. */
export function storyHandlers(
  { store, clock }: ServerParts,
  accounts: RunAccounts,
): Handlers<"getTimeline" | "getTranscript" | "compareRuns"> {
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

    getTranscript: async ({ params: { runId }, query: { before, after, limit } }, { principal }) => {
      await requireRun(store, principal, runId);
      const list = { list: "transcript", runId };
      const place = {
        before: placeInList(before, list, z.string()),
        after: placeInList(after, list, z.string()),
      };
      const page = await readTranscriptPage(store, runId, {
        limit,
        ...(place.before === undefined ? {} : { before: place.before }),
        ...(place.after === undefined ? {} : { after: place.after }),
      });
      return {
        status: 200,
        body: {
          items: page.items.map(transcriptItemDocument),
          before: page.older === null ? null : listCursor(page.older, list),
          after: listCursor(page.newer, list),
          isNewest: page.isNewest,
        },
      };
    },

    compareRuns: async ({ query: { a, b, cursor, limit } }, { principal }) => {
      await requireRun(store, principal, a);
      await requireRun(store, principal, b);
      const list = { list: "compare", a, b };
      const after = placeInList(cursor, list, z.string());
      const comparison = await compareRuns(store, a, b);
      const page = await compareTurns(store, a, b, { limit, ...(after === undefined ? {} : { after }) });
      const cursorAt = (place: string | null) => (place === null ? null : listCursor(place, list));
      return {
        status: 200,
        body: {
          ...comparisonDocument(comparison),
          differsAfter: cursorAt(comparison.differsAfter),
          turns: page.turns.map(comparedTurnDocument),
          nextCursor: cursorAt(page.next),
        },
      };
    },
  };
}
