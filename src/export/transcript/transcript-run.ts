import { isJsonObject } from "../../core/json.ts";
import { ownProperty } from "../../core/own-property.ts";
import { asksPeople } from "../../core/wait.ts";
import type { RunRecord } from "../../store/store.ts";
import { listIn, numberIn, textIn } from "../event-facts.ts";
import { amountText, counted, isoTime, timeOfDay, wholeNumber } from "../figures.ts";
import { code, fence, inline, sentence } from "../markdown.ts";
import type { Incident } from "../run-incidents.ts";
import type { Chapter } from "../run-outline.ts";
import { callName } from "./transcript-call.ts";
import { openedWait } from "./transcript-wait.ts";

// The texts about the run as a whole: its workers, and the state in which each found and left it.

export function chapterHead({ attempt, number }: Chapter): readonly string[] {
  const { owner, startedAt, resumedFrom, reason } = attempt;
  const why = reason === null ? "" : ` Reason: ${sentence(reason)}`;
  return [
    `## Attempt ${number}${resumedFrom === null ? "" : `: resumed from the last ${resumedFrom === "turn" ? "commit" : "milestone"}`}`,
    `Worker ${code(owner)} has the run from ${isoTime(startedAt)}.${why}`,
  ];
}

/** Nothing if the worker released the run itself: the log has its end. */
export function chapterEnd({ end, lastSign }: Chapter): readonly string[] {
  switch (end) {
    case "released":
      return [];
    case "died":
      return [
        `> **The worker died or lost the run here.** Its last sign of life was at ${isoTime(lastSign)}. Its commits remain.`,
      ];
    case "open":
      return [
        `> **The run is here now.** The last sign of life of its worker was at ${isoTime(lastSign)}; no other worker has claimed the run since.`,
      ];
  }
}

/** The state in which the next worker found the run. */
export function claimedRun({ facts, lost }: Incident): readonly string[] {
  const unanswered = listIn(facts, "chargedAsLost").flatMap((item) => {
    if (!isJsonObject(item)) return [];
    const reserved = isJsonObject(item.reserved) ? amountOf(item.reserved) : "what was reserved";
    return [
      `The model had been asked for turn ${numberIn(item, "turnIndex") ?? "?"} of ${code(textIn(item, "stepPath") ?? "?")}, and its answer is unknown: ${reserved} stay charged.`,
    ];
  });
  const budgets = isJsonObject(facts.budgets) ? Object.entries(facts.budgets) : [];
  const raised = budgets.map(([name, limit]) => `${code(name)} is ${JSON.stringify(limit)}`).join(", ");
  return [
    ...(raised === "" ? [] : [`The budgets of the run were changed: ${raised} from here on.`]),
    ...unanswered,
    ...lostCalls({ lost }),
  ];
}

function lostCalls({ lost }: Pick<Incident, "lost">): readonly string[] {
  return lost.map(
    ({ call, attempt }) =>
      `${callName(call)} (${code(call.toolCallId)}), was running, attempt ${attempt}: whether it happened is in doubt.`,
  );
}

export function deniedTurn({ facts }: Incident): readonly string[] {
  return [`**The budget does not cover turn ${numberIn(facts, "turn") ?? "?"}**: ${shortage(facts)}.`];
}

/** What a denied model call may take, and what is left for it. */
export function shortage(facts: Incident["facts"]): string {
  const unit = textIn(facts, "unit") === "microDollars" ? "micro-dollars" : "tokens";
  return `it may take ${wholeNumber(numberIn(facts, "wanted") ?? 0)} ${unit}, and ${wholeNumber(numberIn(facts, "remaining") ?? 0)} are left`;
}

export function waitingRun(incident: Incident): readonly string[] {
  const { event, opened } = incident;
  const questions = opened.filter(({ kind }) => asksPeople(kind)).length;
  const count = questions === 0 ? "" : ` ${counted(questions, "question")} to answer.`;
  const whom = opened.length > 0 && questions === 0 ? "" : " for a person";
  return [
    ...lostCalls(incident),
    `**The run waits${whom}** from ${isoTime(event.at)}.${count}`,
    ...opened.map(openedWait),
  ];
}

const ENDS: { readonly [type: string]: string } = {
  "run.succeeded": "The run has succeeded",
  "run.failed": "The run has failed",
  "run.cancelled": "The run was cancelled",
  "run.queued": "The worker released the run in good order",
};

/** `runError` is stored for the last end only; the error code of each is in the log. */
export function endedRun(incident: Incident, runError: RunRecord["error"]): readonly string[] {
  const { event, facts } = incident;
  const [error, by] = [textIn(facts, "code"), textIn(facts, "by")];
  const who = by === null ? "" : ` by ${inline(by)}`;
  const why = error === null ? "" : `, with error ${code(error)}`;
  const message = runError === null ? [] : [fence(runError.message)];
  return [
    ...lostCalls(incident),
    `**${ownProperty(ENDS, event.type) ?? event.type}**${who} at ${isoTime(event.at)}${why}.`,
    ...message,
  ];
}

/** The run left a store, or arrived in one. */
export function movedRun(incident: Incident): readonly string[] {
  const { event, facts } = incident;
  const where =
    event.type === "run.moved"
      ? `moved to the store ${code(textIn(facts, "to") ?? "?")}`
      : `taken over from the store ${code(textIn(facts, "from") ?? "?")}`;
  return [...lostCalls(incident), `**The run was ${where}** at ${isoTime(event.at)}.`];
}

export function requestedCancel({ event, facts }: Incident): readonly string[] {
  return [
    `**${inline(textIn(facts, "by") ?? "A person")}** requested to cancel the run at ${isoTime(event.at)}.`,
  ];
}

export function requestedResume(incident: Incident): readonly string[] {
  const { event, facts } = incident;
  const from = textIn(facts, "from") ?? "turn";
  const where =
    from === "turn"
      ? ""
      : ` from ${from === "milestone" ? "its last milestone" : "the beginning of its step"}`;
  const why = textIn(facts, "reason");
  return [
    ...lostCalls(incident),
    `**${inline(textIn(facts, "by") ?? "A person")}** requested to resume the run${where} at ${isoTime(event.at)}${why === null ? "" : `: ${inline(why)}`}.`,
  ];
}

export function keptArtifact({ event, facts }: Incident): readonly string[] {
  const size = numberIn(facts, "size");
  return [
    `Artifact ${code(textIn(facts, "name") ?? "?")}${size === null ? "" : `, ${counted(size, "byte")},`} was stored at ${timeOfDay(event.at)}.`,
  ];
}

function amountOf(amount: { readonly [name: string]: unknown }): string {
  const figure = (value: unknown) => (typeof value === "number" ? value : 0);
  return amountText({ tokens: figure(amount.tokens), microDollars: figure(amount.microDollars) });
}
