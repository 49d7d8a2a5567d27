import type { JsonObject } from "../../core/json.ts";
import type { ExchangeOutcome, MessageRecord } from "../../store/store.ts";
import type { WatchedFact } from "./watch-event.ts";
import { type FactDraft, listIn, numberIn, type PlaceOfTurn, type WatchedRun } from "./watched-run.ts";

// What the log says of the exchanges of conversations.

/** What a turn takes from the mailbox as it is opened, and the exchange that begins with it. */
export function taken(facts: JsonObject, place: PlaceOfTurn): readonly FactDraft[] {
  const numbers = listIn(facts, "took").filter((no) => typeof no === "number");
  const { exchange } = facts;
  const begun = typeof exchange === "number" ? [exchangeBegun(place, exchange, numbers[0] ?? null)] : [];
  return [...begun, ...numbers.map((no) => message(place, no))];
}

function exchangeBegun({ step, turn }: PlaceOfTurn, exchange: number, messageNo: number | null): FactDraft {
  return async (run) => {
    const after = { stepPath: step, exchange: exchange - 1 };
    const [found] = await run.store.listExchanges(run.runId, { after, limit: 1 });
    const sentBy = found?.exchange === exchange ? found.sentBy : "";
    const messageId = messageNo === null ? null : ((await messageAt(run, messageNo))?.id ?? null);
    return { type: "exchange.begun", step, turn, exchange, sentBy, messageId };
  };
}

function message({ step, turn }: PlaceOfTurn, messageNo: number): FactDraft {
  return async (run) => {
    const found = await messageAt(run, messageNo);
    if (found === null) return null;
    const { id: messageId, body, sentBy, sentAt, takenBy } = found;
    const exchange = takenBy?.exchange ?? null;
    return { type: "message.taken", step, turn, exchange, messageId, body, sentBy, sentAt };
  };
}

/** A message that its sender has taken back. */
export function withdrawn(facts: JsonObject): readonly FactDraft[] {
  return [
    async (run) => {
      const found = await messageAt(run, numberIn(facts, "message"));
      return found === null ? null : { type: "message.withdrawn", messageId: found.id };
    },
  ];
}

async function messageAt({ store, runId }: WatchedRun, messageNo: number): Promise<MessageRecord | null> {
  const [found] = await store.listMessages(runId, { after: messageNo - 1, limit: 1 });
  return found?.messageNo === messageNo ? found : null;
}

/** An exchange that ended without a complete answer. */
export function exchangeEnded(facts: JsonObject): readonly FactDraft[] {
  const { step, outcome, why } = facts;
  const fact: WatchedFact = {
    type: "exchange.ended",
    step: typeof step === "string" ? step : "",
    exchange: numberIn(facts, "exchange"),
    outcome: outcome as ExchangeOutcome,
    why: typeof why === "string" ? why : null,
  };
  return [() => fact];
}

/** An exchange that ended with the complete answer, in the commit of its last turn. */
export function exchangeComplete(place: PlaceOfTurn, facts: JsonObject): readonly FactDraft[] {
  if (facts.complete !== true) return [];
  const { ended } = facts;
  return [
    async (run) => {
      // The logs of earlier versions do not name it.
      const exchange = typeof ended === "number" ? ended : await endedWith(run, place);
      if (exchange === null) return null;
      return { type: "exchange.ended", step: place.step, exchange, outcome: "complete", why: null };
    },
  ];
}

async function endedWith({ store, runId }: WatchedRun, { step, turn }: PlaceOfTurn): Promise<number | null> {
  const exchanges = await store.listExchanges(runId);
  const found = exchanges.find(
    ({ stepPath, lastTurn, outcome }) => stepPath === step && lastTurn === turn && outcome === "complete",
  );
  return found?.exchange ?? null;
}
