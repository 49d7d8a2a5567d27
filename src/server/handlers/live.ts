import { eventStreamResponse } from "../../adapters/net/event-stream-response.ts";
import { RunMovedError } from "../../core/errors.ts";
import { leavable } from "../../engine/watch/leavable.ts";
import { lastSeqOf } from "../../engine/watch/present-cursor.ts";
import { assertKnown, placeOf } from "../../engine/watch/watch-cursor.ts";
import type { WatchEvent, WatchOptions } from "../../engine/watch/watch-event.ts";
import { watchEvents } from "../../engine/watch/watch-run.ts";
import type { RunRecord, StoreReader } from "../../store/store.ts";
import type { Handlers } from "../handler.ts";
import { eventText } from "../live/live-event.ts";
import type { LiveHub } from "../live/live-hub.ts";
import { readLivePlace } from "../live/live-place.ts";
import { requireRun } from "../scope/run-scope.ts";
import type { ServerParts } from "./server-parts.ts";

/** What happens, as it happens. */
export function liveHandlers({ store, clock }: ServerParts, hub: LiveHub): Handlers<"stream" | "watchRun"> {
  return {
    stream: async ({ query }, { principal, request }) => {
      const given = request.headers.get("last-event-id") ?? query.cursor;
      const place = given === undefined || given === "" ? null : readLivePlace(given);
      if (query.run !== undefined) await requireRun(store, principal, query.run);
      const { events, leave } = await hub.open({
        scope: principal.scope,
        run: query.run === undefined ? null : { runId: query.run, after: place?.seq ?? query.after ?? 0 },
        place,
      });
      return eventStreamResponse(events, { left: leave });
    },

    watchRun: async ({ params: { runId }, query }, { principal, request }) => {
      const run = await requireRun(store, principal, runId);
      const after = request.headers.get("last-event-id") ?? query.after ?? "";
      await assertWatchable(store, run, after);
      const left = new AbortController();
      const signal = AbortSignal.any([request.signal, left.signal]);
      const options: WatchOptions = { live: query.live === "true", ...(after === "" ? {} : { after }) };
      const events = leavable(signal, (over) => watchEvents({ store, runId }, options, clock, over));
      return eventStreamResponse(watchTexts(events), { left: () => left.abort() });
    },
  };
}

/** What is wrong with the request is answered, before there is a stream that could only break. */
async function assertWatchable(
  store: StoreReader,
  { runId, moved }: RunRecord,
  after: string,
): Promise<void> {
  if (moved !== null)
    throw new RunMovedError(`Run ${runId} was moved to the store ${moved.to}: watch it there.`, {
      runId,
      to: moved.to,
    });
  if (after !== "") assertKnown(runId, placeOf(runId, after), await lastSeqOf(store, runId));
}

async function* watchTexts(
  events: AsyncGenerator<WatchEvent, void, undefined>,
): AsyncGenerator<string, void, undefined> {
  for await (const event of events) yield watchText(event);
}

/** What is durable has its cursor as its id. Pieces of an answer have none: they count for nothing. */
function watchText(event: WatchEvent): string {
  return eventText(event.type, event, "cursor" in event ? event.cursor : null);
}
