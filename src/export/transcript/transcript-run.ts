import { isJsonObject } from "../../core/json.ts";
import { ownProperty } from "../../core/own-property.ts";
import type { RunRecord } from "../../store/store.ts";
import { listIn, numberIn, textIn } from "../event-facts.ts";
import { amountText, counted, isoTime, timeOfDay, wholeNumber } from "../figures.ts";
import { code, fence, inline, sentence } from "../markdown.ts";
import type { Chapter } from "../run-outline.ts";
import type { Incident } from "../run-story.ts";
import { callName } from "./transcript-call.ts";
import { askedPerson } from "./transcript-wait.ts";

// What a transcript says of the run as a whole: who had it, how they found it and how they left it.

export function chapterHead({ attempt, number }: Chapter): readonly string[] {
  const { owner, startedAt, resumedFrom, reason } = attempt;
  const why = reason === null ? "" : ` Why it was taken up: ${sentence(reason)}`;
  return [
    `## Attempt ${number}${resumedFrom === null ? "" : `: the run goes on from the last ${resumedFrom === "turn" ? "commit" : "milestone"}`}`,
    `Worker ${code(owner)} has the run from ${isoTime(startedAt)}.${why}`,
  ];
}

/** Nothing where the worker said itself how it ended. */
export function chapterEnd({ end, lastSign }: Chapter): readonly string[] {
  switch (end) {
    case "released":
      return [];
    case "died":
      return [
        `> **Here the worker died, or lost the run.** The last that was heard of it was at ${isoTime(lastSign)}. What it had committed stands.`,
      ];
    case "open":
      return [
        `> **This is where the run stands.** The last that was heard of its worker was at ${isoTime(lastSign)}; nobody has taken the run since.`,
      ];
  }
}

/** What the next worker found. */
export function claimedRun({ facts, lost }: Incident): readonly string[] {
  const unanswered = listIn(facts, "chargedAsLost").flatMap((item) => {
    if (!isJsonObject(item)) return [];
    const reserved = isJsonObject(item.reserved) ? amountOf(item.reserved) : "what was reserved";
    return [
      `The model had been asked for turn ${numberIn(item, "turnIndex") ?? "?"} of ${code(textIn(item, "stepPath") ?? "?")}, and nobody knows what it answered: ${reserved} stay charged.`,
    ];
  });
  const budgets = isJsonObject(facts.budgets) ? Object.entries(facts.budgets) : [];
  const raised = budgets.map(([name, limit]) => `${code(name)} is ${JSON.stringify(limit)}`).join(", ");
  return [
    ...(raised === "" ? [] : [`What the run may use was changed: ${raised} from here on.`]),
    ...unanswered,
    ...lostCalls({ lost }),
  ];
}

export function lostCalls({ lost }: Pick<Incident, "lost">): readonly string[] {
  return lost.map(
    ({ call, attempt }) =>
      `${callName(call)} (${code(call.toolCallId)}), was under way, try ${attempt}: whether it happened is in doubt.`,
  );
}

export function deniedTurn({ facts }: Incident): readonly string[] {
  const unit = textIn(facts, "unit") === "microDollars" ? "micro-dollars" : "tokens";
  return [
    `**The budget does not cover turn ${numberIn(facts, "turn") ?? "?"}**: it may take ${wholeNumber(numberIn(facts, "wanted") ?? 0)} ${unit}, and ${wholeNumber(numberIn(facts, "remaining") ?? 0)} are left.`,
  ];
}

export function waitingRun(incident: Incident): readonly string[] {
  const { event, opened } = incident;
  const count = opened.length === 0 ? "" : ` ${counted(opened.length, "question")} to answer.`;
  return [
    ...lostCalls(incident),
    `**The run waits for a person** from ${isoTime(event.at)}.${count}`,
    ...opened.map(askedPerson),
  ];
}

const ENDS: { readonly [type: string]: string } = {
  "run.succeeded": "The run has succeeded",
  "run.failed": "The run has failed",
  "run.cancelled": "The run was cancelled",
  "run.queued": "The worker let go of the run in good order",
};

/** The message of an error is kept for the last end alone; the code of each is in the log. */
export function endedRun(incident: Incident, run: RunRecord, isLast: boolean): readonly string[] {
  const { event, facts } = incident;
  const [error, by] = [textIn(facts, "code"), textIn(facts, "by")];
  const who = by === null ? "" : ` by ${inline(by)}`;
  const why = error === null ? "" : `, with error ${code(error)}`;
  const said = isLast && run.error !== null ? [fence(run.error.message)] : [];
  return [
    ...lostCalls(incident),
    `**${ownProperty(ENDS, event.type) ?? event.type}**${who} at ${isoTime(event.at)}${why}.`,
    ...said,
  ];
}

export function wantedEnd({ event, facts }: Incident): readonly string[] {
  return [`**${inline(textIn(facts, "by") ?? "Somebody")}** wants the run to end, at ${isoTime(event.at)}.`];
}

export function keptArtifact({ event, facts }: Incident): readonly string[] {
  const size = numberIn(facts, "size");
  return [
    `Artifact ${code(textIn(facts, "name") ?? "?")}${size === null ? "" : `, ${counted(size, "byte")},`} is kept at ${timeOfDay(event.at)}.`,
  ];
}

function amountOf(amount: { readonly [name: string]: unknown }): string {
  const figure = (value: unknown) => (typeof value === "number" ? value : 0);
  return amountText({ tokens: figure(amount.tokens), microDollars: figure(amount.microDollars) });
}
