import { isJsonObject, type JsonObject } from "../../core/json.ts";
import type { MessageRecord } from "../../store/store.ts";
import { numberIn, numbersIn, textIn } from "../event-facts.ts";
import { timeOfDay } from "../figures.ts";
import { fence, inline, sentence } from "../markdown.ts";
import type { Incident } from "../run-incidents.ts";

// The texts about conversations: what people wrote, and how exchanges begin and end.

/** A text, as its sender wrote it. An event is shown where something receives it. */
export function writtenText({
  event,
  body,
  sentBy,
  sentAt,
  mode,
  messageNo,
  reason,
}: MessageRecord): string | null {
  if (event !== null) return null;
  const text = isJsonObject(body) ? body.text : body;
  const how = mode === null || mode === "queue" ? "" : `, to ${mode}`;
  const returned = reason === null ? "" : ` It was returned: ${sentence(reason)}`;
  const who = `**${inline(sentBy)}** wrote message ${messageNo} at ${timeOfDay(sentAt)}${how}:`;
  return `${who}\n\n${fence(typeof text === "string" ? text : "")}${returned === "" ? "" : `\n\n${returned.trim()}`}`;
}

/** What a turn takes from the mailbox as it is opened. */
export function takenTexts({ facts }: Incident): readonly string[] {
  const exchange = numberIn(facts, "exchange");
  const took = numbersIn(facts, "took");
  const begins = exchange === null ? "" : `**Exchange ${exchange} begins.** `;
  if (took.length === 0) return begins === "" ? [] : [`${begins}It answers the input.`];
  return [`${begins}It takes message ${took.join(" and ")}.`];
}

/** What the turn after a commit takes: it was opened with it. */
export function takenByNext(facts: JsonObject): readonly string[] {
  const took = numbersIn(facts, "took");
  return took.length === 0 ? [] : [`The next turn takes message ${took.join(" and ")}.`];
}

export function endedExchange({ facts }: Incident): readonly string[] {
  const [exchange, outcome] = [numberIn(facts, "exchange"), textIn(facts, "outcome")];
  return [
    `**Exchange ${exchange ?? "?"} ended without a complete answer** (${inline(outcome ?? "?")}): ${sentence(textIn(facts, "why") ?? "")}`,
  ];
}

export function requestedStop({ event, facts }: Incident): readonly string[] {
  const who = inline(textIn(facts, "by") ?? "A person");
  return [
    `**${who}** asked at ${timeOfDay(event.at)} to stop exchange ${numberIn(facts, "exchange") ?? "?"}.`,
  ];
}
