import { isJsonObject } from "../../core/json.ts";
import type { MessageRecord } from "../../store/store.ts";
import { numberIn, numbersIn, textIn } from "../event-facts.ts";
import { timeOfDay } from "../figures.ts";
import { code, inline, sentence, shortFence } from "../markdown.ts";
import type { Incident } from "../run-incidents.ts";
import { shortage } from "./transcript-run.ts";

// The texts about conversations: what people wrote, and how exchanges begin and end.

/** A text that has come. An event is shown where something receives it. */
export function writtenText({
  event,
  sentBy,
  sentAt,
  mode,
  messageNo,
  reason,
}: MessageRecord): string | null {
  if (event !== null) return null;
  const how = mode === null || mode === "queue" ? "" : `, to ${mode}`;
  const returned = reason === null ? "" : ` It was returned: ${sentence(reason)}`;
  return `**${inline(sentBy)}** wrote message ${messageNo} at ${timeOfDay(sentAt)}${how}.${returned}`;
}

/** A text that a turn takes, as its sender wrote it. */
export function takenText({ body, sentBy, messageNo }: MessageRecord): string {
  const text = isJsonObject(body) ? body.text : body;
  const who = `**${inline(sentBy)}**, message ${messageNo}:`;
  return `${who}\n\n${shortFence(typeof text === "string" ? text : "", "all of it is in the store")}`;
}

/** The numbers of the messages that an event takes for a turn. */
export function takenIn({ facts }: Incident): readonly number[] {
  return numbersIn(facts, "took");
}

/** The beginning of an exchange, with the turn that is opened; none if it goes on. */
export function begunExchange({ facts }: Incident): readonly string[] {
  const exchange = numberIn(facts, "exchange");
  const uncompacted = textIn(facts, "uncompacted");
  const why =
    uncompacted === null ? "" : ` The history before it was not compacted: ${sentence(uncompacted)}`;
  return exchange === null ? [] : [`**Exchange ${exchange} begins.**${why}`];
}

/** The model sees the summary in place of the history from here on. */
export function compactedHistory({ event, facts, step }: Incident, summary: string): readonly string[] {
  const where = step === null ? "" : ` of step ${code(step.path)}`;
  const author = textIn(facts, "author") === "function" ? "A function of the conversation" : "The model";
  return [
    `**The history${where} is compacted** at ${timeOfDay(event.at)}: from turn ${numberIn(facts, "turn") ?? "?"} on, the model sees a summary in place of everything before. The calls made so far keep their receipts. ${author} wrote the summary:`,
    shortFence(summary, "all of it is in the store"),
  ];
}

/** Exchanges begin without a summary if the budget does not cover it. */
export function deniedSummary({ facts }: Incident): readonly string[] {
  return [`**The budget does not cover a summary of the history**: ${shortage(facts)}.`];
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
