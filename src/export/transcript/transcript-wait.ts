import { isJsonObject } from "../../core/json.ts";
import { asksPeople, type WaitAnswer } from "../../core/wait.ts";
import type { Decision, WaitRecord } from "../../store/store.ts";
import { isoTime } from "../figures.ts";
import { code, fence, inline, jsonFence, sentence } from "../markdown.ts";

// The texts about people: questions and answers.

const WHOLE = "all of it is in the store";

/** A question, with everything that the person was shown. */
function askedPerson({ waitId, toolCallId, kind, question, subject }: WaitRecord): string {
  const about = toolCallId === null ? "" : ` about call ${code(toolCallId)}`;
  const asked = `A person is asked (${code(waitId)}, ${code(kind)}${about}):`;
  const shown = Object.keys(subject).length === 0 ? "" : `\n\n${jsonFence(subject, WHOLE)}`;
  return `${asked}\n\n${fence(question)}${shown}`;
}

/** What the run waits for that no person answers. */
function awaited({ waitId, toolCallId, kind, matches, dueAt }: WaitRecord): string {
  const call = toolCallId === null ? "The run" : `Call ${code(toolCallId)}`;
  const until = dueAt === null ? "" : ` until ${isoTime(dueAt)}`;
  if (kind === "message" && toolCallId === null)
    return `The conversation waits for a message${until} (${code(waitId)}).`;
  if (kind === "time") return `${call} sleeps${until} (${code(waitId)}).`;
  return `${call} waits for the message ${code(matches ?? "?")}${until} (${code(waitId)}).`;
}

/** The opening of a wait: what people are asked, or what else the run waits for. */
export function openedWait(wait: WaitRecord): string {
  return asksPeople(wait.kind) ? askedPerson(wait) : awaited(wait);
}

/** The end of a wait that the clock or a message answered. */
export function endedWait(wait: WaitRecord): string {
  const { answer, answeredAt, toolCallId, waitId, people, kind } = wait;
  const call = toolCallId === null ? "the run" : `call ${code(toolCallId)}`;
  const at = answeredAt === null ? "" : ` at ${isoTime(answeredAt)}`;
  if (answer === null) return `The clock marked ${code(waitId)}: nobody has answered it yet.`;
  if (kind === "time") return `**The time has come**${at}: ${call} wakes.`;
  if (kind === "message" && toolCallId === null)
    return `**Nobody wrote in time**${at}: the conversation is over.`;
  const isReceived =
    "as" in answer && answer.as === "answered" && isJsonObject(answer.value) && "event" in answer.value;
  if (kind === "message" && isReceived)
    return `${people.map(shownPerson).join(" and ")} sent a message, which ${call} received${at}:\n\n${jsonFence(answer.value, WHOLE)}`;
  return `**Nothing came in time**${at}: ${call} ${whatWasSaid(answer)}`;
}

/** An answer, and who gave it. */
export function answeredBy(wait: WaitRecord): string {
  const who = wait.people.length === 0 ? "**A person**" : wait.people.map(shownPerson).join(" and ");
  const when = wait.answeredAt === null ? "" : ` at ${isoTime(wait.answeredAt)}`;
  const about = wait.toolCallId === null ? "the run" : `call ${code(wait.toolCallId)}`;
  if (wait.answer === null) return `${who} has not answered ${code(wait.waitId)}.`;
  return `${who} answered ${code(wait.waitId)}${when}: ${about} ${whatWasSaid(wait.answer)}`;
}

/** One of the approvals that a call needs. */
export function approvedBy({ waitId, people }: WaitRecord, name: string | null): string {
  const found = people.find((each) => each.name === name);
  return `${found === undefined ? `**${inline(name ?? "A person")}**` : shownPerson(found)} approved ${code(waitId)}, which needs others too.`;
}

/** The name that the person gave, and the authenticated identity. */
function shownPerson({ name, authenticated }: Decision): string {
  const shown = `**${inline(name)}**`;
  if (authenticated === null) return shown;
  const known = authenticated.name === name ? "" : ` as ${inline(authenticated.name)}`;
  return `${shown} (known to ${inline(authenticated.by)}${known})`;
}

function whatWasSaid(answer: WaitAnswer): string {
  if ("approved" in answer)
    return answer.approved ? "may run." : `may not run, because: ${sentence(answer.why)}`;
  switch (answer.as) {
    case "succeeded":
      return `has happened, with this result:\n\n${jsonFence(answer.result, WHOLE)}`;
    case "retry":
      return answer.why === undefined ? "may run again." : `may run again, because: ${sentence(answer.why)}`;
    case "failed":
      return `has not happened, and must not: ${sentence(answer.why)}`;
    case "timed_out":
      return `was not answered in time: ${sentence(answer.why)}`;
    case "answered":
      return `gets this answer:\n\n${jsonFence(answer.value, WHOLE)}`;
  }
}
