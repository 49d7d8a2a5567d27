import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import { toolCallId } from "../../core/step-path.ts";
import { callIndexesIn, factsOf, leadingNumber, numbersIn } from "../../export/event-facts.ts";
import type { EventRecord, StoreReader } from "../../store/store.ts";
import { cleanLine } from "../context/terminal-text.ts";
import { counted, formatValue, formatWholeNumber } from "./format.ts";

/** Lease renewals happen every few seconds and are not worth a line. */
export function isHeartbeat({ type }: EventRecord): boolean {
  return type === "lease.renewed";
}

/** An event of a run's log in a few words. Tool names are looked up, since the event holds call numbers only. */
export async function eventText(store: StoreReader, runId: string, event: EventRecord): Promise<string> {
  const facts = factsOf(event);
  const tools = await toolsOf(store, runId, facts);
  return cleanLine([place(facts), ...shownFacts(facts), tools].filter((part) => part !== "").join("  "));
}

/** `research turn 2` for an event of a turn. */
function place({ step, turn }: JsonObject): string {
  if (typeof step !== "string") return typeof turn === "number" ? `turn ${turn}` : "";
  return typeof turn === "number" && turn > 0 ? `${step} turn ${turn}` : step;
}

/** Facts that `place` or the tools already show, or that only `pawl verify` needs. */
const HIDDEN_FACTS: readonly string[] = [
  "step",
  "turn",
  "call",
  "calls",
  "receipts",
  "receipt",
  "response",
  "basis",
  "rows",
  "ofRun",
  "quota",
];
const DIGEST = /^[\w-]{43}$/;

function shownFacts(facts: JsonObject): readonly string[] {
  return Object.entries(facts).flatMap(([key, value]) => {
    if (HIDDEN_FACTS.includes(key) || isEmpty(value)) return [];
    if (isJsonObject(value) && typeof value.tokens === "number")
      return [`${key} ${formatWholeNumber(value.tokens)} tokens`];
    return typeof value === "string" && DIGEST.test(value) ? [] : [`${key}=${formatValue(value)}`];
  });
}

function isEmpty(value: Json): boolean {
  return value === null || (Array.isArray(value) && value.length === 0);
}

/** `search, send_email`: the tools of the event's calls. */
async function toolsOf(store: StoreReader, runId: string, facts: JsonObject): Promise<string> {
  const { step, turn } = facts;
  const indexes = callsIn(facts);
  if (typeof step !== "string" || indexes.length === 0) return "";
  const place = typeof turn === "number" ? turn : 0;
  const names = await Promise.all(
    indexes.map(async (index) => (await store.getToolCall(toolCallId(runId, step, place, index)))?.tool),
  );
  const known = names.filter((name) => name !== undefined);
  return known.length === 0 ? counted(indexes.length, "call") : known.join(", ");
}

function callsIn(facts: JsonObject): readonly number[] {
  const one = leadingNumber(facts.call);
  const several = [...callIndexesIn(facts, "calls"), ...numbersIn(facts, "receipts")];
  return [...new Set(one === null ? several : [one, ...several])];
}
