import { isoTime } from "../../export/figures.ts";
import type { HeldRun } from "../../store/store.ts";
import type { Principal } from "../principal.ts";
import type { ServerParts } from "./server-parts.ts";

/** The most runs that are listed. */
const MOST_LISTED = 100;

/** Who holds what, and what waits. */
export async function readActivity({ store, clock }: ServerParts, { scope }: Principal) {
  const now = clock.now();
  const activity = await store.readActivity({ ...scope, limit: MOST_LISTED });
  return {
    asOf: isoTime(now),
    ready: activity.ready.map((each) => ({ ...each, oldestMs: Math.round(each.oldestMs) })),
    sleeping: activity.sleeping.map((each) => ({ ...each, nextInMs: Math.round(each.nextInMs) })),
    running: activity.running,
    held: activity.held.map(heldDocument),
    waits: activity.waits.map((each) => ({ ...each, oldestMs: Math.round(each.oldestMs) })),
  };
}

function heldDocument({ runId, pipeline, queue, owner, heldMs, silentMs, leaseMs }: HeldRun) {
  return {
    runId,
    pipeline,
    queue,
    owner,
    heldMs: Math.round(heldMs),
    silentMs: Math.round(silentMs),
    leaseMs: Math.round(leaseMs),
    isInterrupted: owner === null || silentMs >= leaseMs,
  };
}
