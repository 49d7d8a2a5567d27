import { visibleLine } from "../../../../../src/core/visible-text.ts";
import type { Answer } from "../../../api/client.ts";
import { clockWithSeconds, longDurationWords } from "../../../words/time-words.ts";
import { ownerWords } from "../timeline/slice-words.ts";
import type { Life } from "../timeline/timeline-documents.ts";

export type Run = Answer<"getRun">;

/** How a run stands, in a sentence: who works on it, or why no worker does. `life` is the last one, if it is known. */
export function standingWords({ head, moved }: Run, life: Life | undefined, now: number): string {
  switch (head.status) {
    case "queued":
      if (head.readyAt === null) return "It is a fork, and was not started: a resume starts it.";
      return Date.parse(head.readyAt) > now
        ? `It is queued, and not ready for another ${longDurationWords(Date.parse(head.readyAt) - now)}.`
        : "It is queued: the next worker with a free place takes it.";
    case "running":
      return `It is worked on by ${lifeWords(head.life, head.owner ?? life?.owner)}${head.currentStep === null ? "" : `, in step ${visibleLine(head.currentStep)}`}.`;
    case "interrupted":
      return interruptedWords(head, life);
    case "waiting":
      return waitingWords(head, now);
    case "succeeded":
      return "It has succeeded.";
    case "failed":
      return "It has failed.";
    case "cancelled":
      return "It was cancelled.";
    case "moved":
      return `It was moved to the store ${visibleLine(moved?.to ?? "")}, and continues there.`;
  }
}

function lifeWords(number: number, owner: string | undefined): string {
  return owner === undefined ? `life ${number}` : `life ${number} (${ownerWords(owner)})`;
}

function interruptedWords({ life: number, leaseUntil }: Run["head"], life: Life | undefined): string {
  if (life === undefined) return `No worker has it: life ${number} has ended.`;
  const who = lifeWords(life.number, life.owner);
  const last = clockWithSeconds(Date.parse(life.endedAt));
  if (life.end === "left") return `No worker has it: ${who} let go of it at ${last}, for another one.`;
  // No worker has taken it since: then its lease says when it was missed.
  const goneBy = life.goneBy ?? leaseUntil;
  const gone = goneBy === null ? "" : ` and was gone by ${clockWithSeconds(Date.parse(goneBy))}`;
  return `No worker has it: ${who} gave its last sign at ${last}${gone}.`;
}

function waitingWords({ firstWait, openWaits, wakeAt }: Run["head"], now: number): string {
  if (firstWait !== null && openWaits > 0) {
    const more = openWaits === 1 ? "" : ` And ${openWaits - 1} more.`;
    return `It waits for a person: ${visibleLine(firstWait.question)}${more}`;
  }
  if (wakeAt !== null) {
    const ms = Date.parse(wakeAt) - now;
    return ms > 0
      ? `It waits for a time, which is in ${longDurationWords(ms)}.`
      : "The time that it waited for is here: a worker takes it.";
  }
  return firstWait?.kind === "message" ? "It waits for a message." : "It waits.";
}
