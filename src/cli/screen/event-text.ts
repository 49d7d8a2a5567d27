import { isUnlikeFirst } from "../../core/call/duplicate-note.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import { toolCallId } from "../../core/step-path.ts";
import { factsOf, listIn, numberIn, numbersIn } from "../../export/event-facts.ts";
import { fileIn, fileText } from "../../export/sent-file.ts";
import type { EventRecord, StoreReader, ToolCallRecord } from "../../store/store.ts";
import { cleanLine } from "../context/terminal-text.ts";
import { counted, formatTimeOfDay, formatValue, formatWholeNumber } from "./format.ts";

/** An event of a run's log in a few words. Tool names are looked up, since the event holds call numbers only. */
export async function eventText(store: StoreReader, runId: string, event: EventRecord): Promise<string> {
  const facts = factsOf(event);
  const tools = await toolsOf(store, runId, facts);
  const refused = event.type === "model.settled" && facts.basis === "none" ? refusalText(facts) : "";
  const parts = [place(facts), ...shownFacts(facts), refused, tools];
  return cleanLine(parts.filter((part) => part !== "").join("  "));
}

/** A refused request in an outage; else a rejected one, or one that was never sent. */
function refusalText({ outage }: JsonObject): string {
  if (!isJsonObject(outage)) return "refused or not sent";
  const retryAt = numberIn(outage, "retryAt");
  const next = retryAt === null ? "" : `: next request at ${formatTimeOfDay(retryAt)}`;
  return `provider unavailable${next}`;
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
  "new",
  "copied",
  "outage",
  "rows",
  "head",
];

function shownFacts(facts: JsonObject): readonly string[] {
  return Object.entries(facts).flatMap(([key, value]) => {
    if (HIDDEN_FACTS.includes(key) || isEmpty(value)) return [];
    if (key === "files") return [filesText(listIn(facts, key))];
    if (isJsonObject(value) && typeof value.tokens === "number")
      return [`${key} ${formatWholeNumber(value.tokens)} tokens`];
    return [`${key}=${formatValue(value)}`];
  });
}

/** The files of a message. */
function filesText(files: readonly Json[]): string {
  return files
    .map(fileIn)
    .map((file) => (file === null ? "a file" : fileText(file)))
    .join(", ");
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
  const settled = numbersIn(facts, "receipts");
  const names = await Promise.all(
    indexes.map(async (index) => {
      const call = await store.getToolCall(toolCallId(runId, step, place, index));
      const hasReceipt = facts.source !== undefined || settled.includes(index);
      return call === null ? undefined : `${call.tool}${hasReceipt ? unlikeText(call) : ""}`;
    }),
  );
  const known = names.filter((name) => name !== undefined);
  return known.length === 0 ? counted(indexes.length, "call") : known.join(", ");
}

/** A call that did not run, although the call whose result it got had other arguments. */
function unlikeText({ receipt }: ToolCallRecord): string {
  if (receipt === null || !isUnlikeFirst(receipt)) return "";
  return ` (not run, other arguments: as ${receipt.duplicateOf})`;
}

function callsIn(facts: JsonObject): readonly number[] {
  const one = numberIn(facts, "call");
  const several = [...numbersIn(facts, "calls"), ...numbersIn(facts, "receipts")];
  return [...new Set(one === null ? several : [one, ...several])];
}
