import { filesIn, writtenIn } from "../../core/message.ts";
import type { MessageRecord } from "../../store/store.ts";
import { numberIn, numbersIn, textIn } from "../event-facts.ts";
import type { ExchangeFigures } from "../exchanges.ts";
import { amountText, counted, duration, timeOfDay } from "../figures.ts";
import { code, inline, sentence, shortFence } from "../markdown.ts";
import type { Incident } from "../run-incidents.ts";
import { fileText, shownFile } from "../sent-file.ts";
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

/** A text that a turn takes, as its sender wrote it, and the names of its files. */
export function takenText({ body, sentBy, messageNo }: MessageRecord): string {
  const who = `**${inline(sentBy)}**, message ${messageNo}:`;
  const text = writtenIn(body);
  const files = filesIn(body).map((file) => `- ${inline(fileText(shownFile(file)))}`);
  const written = text === "" && files.length > 0 ? [] : [shortFence(text, "all of it is in the store")];
  return [who, ...written, ...(files.length === 0 ? [] : [files.join("\n")])].join("\n\n");
}

/** The numbers of the messages that an event takes for a turn. */
export function takenIn({ facts }: Incident): readonly number[] {
  return numbersIn(facts, "took");
}

/** The number of the exchange that begins with the turn that is opened; null if the present one continues. */
export function begunExchange({ facts }: Incident): number | null {
  return numberIn(facts, "exchange");
}

/** Why the history before an exchange was not compacted, though it was long enough. */
export function uncompactedHistory({ facts }: Incident): readonly string[] {
  const uncompacted = textIn(facts, "uncompacted");
  return uncompacted === null ? [] : [`The history before it was not compacted: ${sentence(uncompacted)}`];
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

/** The heading of an exchange: its turns follow. */
export function exchangeHeading(number: number, exchange: ExchangeFigures | null): string {
  if (exchange === null) return `#### Exchange ${number}`;
  const { stepPath, sentBy, beganAt } = exchange;
  return `#### Exchange ${number} of ${code(stepPath)}: ${inline(sentBy)}, at ${timeOfDay(beganAt)}`;
}

/** An exchange that ended with a complete answer, in the commit of its last turn. */
export function completeExchange(exchange: ExchangeFigures): string {
  return `**Exchange ${exchange.exchange} is complete**: ${figuresText(exchange)}.`;
}

/** An exchange that ended without one. */
export function endedExchange({ facts }: Incident, exchange: ExchangeFigures | null): readonly string[] {
  const [number, outcome] = [numberIn(facts, "exchange"), textIn(facts, "outcome")];
  const cost = exchange === null ? "" : ` It took ${figuresText(exchange)}.`;
  return [
    `**Exchange ${number ?? "?"} ended without a complete answer** (${inline(outcome ?? "?")}): ${sentence(textIn(facts, "why") ?? "")}${cost}`,
  ];
}

function figuresText({ turns, calls, charged, beganAt, endedAt }: ExchangeFigures): string {
  const took = endedAt === null ? [] : [duration(endedAt - beganAt)];
  return [counted(turns, "turn"), counted(calls.length, "call"), amountText(charged), ...took].join(", ");
}

export function requestedStop({ event, facts }: Incident): readonly string[] {
  const who = inline(textIn(facts, "by") ?? "A person");
  return [
    `**${who}** asked at ${timeOfDay(event.at)} to stop exchange ${numberIn(facts, "exchange") ?? "?"}.`,
  ];
}
