import { isJsonObject, type Json } from "../../../core/json.ts";
import { lastSeqOf } from "../../../engine/watch/present-cursor.ts";
import { cursorBehind } from "../../../engine/watch/watch-cursor.ts";
import type { EventRecord, Store } from "../../../store/store.ts";

/** An exchange of a conversation, and the place in the run's log right before it begins. */
export type ExchangeStart = { readonly step: string; readonly exchange: number; readonly cursor: string };

const EVENTS_AT_ONCE = 200;

/** The exchanges of a run from the newest to the oldest, read backwards from the end of its log. */
export async function* exchangesBackwards(
  store: Store,
  runId: string,
): AsyncGenerator<ExchangeStart, void, undefined> {
  const lastSeq = await lastSeqOf(store, runId);
  for (let last = lastSeq; last > 0; last -= EVENTS_AT_ONCE) {
    const after = Math.max(0, last - EVENTS_AT_ONCE);
    const events = await store.listEvents(runId, { after, limit: last - after });
    for (const event of events.toReversed()) {
      const begun = begunIn(event);
      if (begun !== null) yield { ...begun, cursor: cursorBehind(runId, event.seq - 1) };
    }
  }
}

/** The newest exchange that has begun; null if none has. */
export async function lastExchange(store: Store, runId: string): Promise<ExchangeStart | null> {
  for await (const exchange of exchangesBackwards(store, runId)) return exchange;
  return null;
}

/** Where an exchange begins. */
export async function findExchange(
  store: Store,
  runId: string,
  wanted: { readonly step: string; readonly exchange: number },
): Promise<ExchangeStart> {
  for await (const found of exchangesBackwards(store, runId))
    if (found.step === wanted.step && found.exchange === wanted.exchange) return found;
  throw new Error(`Run ${runId} has no exchange ${wanted.exchange} of step ${wanted.step} in its log.`);
}

const OPENINGS: readonly string[] = ["turn.opened", "turn.denied", "turn.committed"];

/** The exchange that begins with an event: the commit that opens its first turn has its number. */
function begunIn({ type, data }: EventRecord): Pick<ExchangeStart, "step" | "exchange"> | null {
  const { step, exchange }: { readonly [name: string]: Json } = isJsonObject(data) ? data : {};
  if (!OPENINGS.includes(type) || typeof step !== "string" || typeof exchange !== "number") return null;
  return { step, exchange };
}
