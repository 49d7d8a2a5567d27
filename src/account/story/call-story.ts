import { isUnlikeFirst } from "../../core/call/duplicate-note.ts";
import { NOT_SENT } from "../../core/call/tool-call-decision.ts";
import { namesInWords } from "../../core/person.ts";
import { asksPermission } from "../../core/wait.ts";
import type { Receipt, ToolCallAttempt, ToolCallRecord, WaitRecord } from "../../store/store.ts";

/**
 * Why a call did or did not happen again, in plain English, from the ledger alone. Without times: a page shows those in
 * the reader's own zone. `attempts` and `waits` are those of this call.
 *
 * @example
 * callStory(call, attempts, waits);
 * // "Attempt 1 was lost with its worker, so it may have happened. It was looked up on the other side and found as msg-81,
 * // and was not sent again. Sent once."
 */
export function callStory(
  call: ToolCallRecord,
  attempts: readonly ToolCallAttempt[],
  waits: readonly WaitRecord[],
): string {
  const { receipt } = call;
  return [
    ...endedAttempts(attempts),
    ...(receipt === null ? openCall(call, attempts, waits) : settledCall(call, receipt, attempts, waits)),
    ...(receipt?.uncertain === true ? ["It may have happened anyway."] : []),
    sentCount(call, attempts),
    ...attempts.flatMap((attempt) => lateEvidence(attempt, receipt)),
  ].join(" ");
}

const OUTCOMES = {
  failed: "failed",
  not_applied: "reported that nothing had happened",
  needs_human: "asked for a person",
  needs_wait: "asked to wait",
  timed_out: "timed out, so it may have happened",
  aborted: "was stopped, so it may have happened",
  lost: "was lost with its worker, so it may have happened",
} as const;

function endedAttempts(attempts: readonly ToolCallAttempt[]): readonly string[] {
  const last = attempts.at(-1);
  if (last === undefined) return [];
  const outcome = last.errorCode === NOT_SENT ? "was never sent" : OUTCOMES[last.outcome];
  if (attempts.length === 1) return [`Attempt ${last.attempt} ${outcome}.`];
  return [`${attempts.length} attempts ended without a result; the last one ${outcome}.`];
}

/** What happens next to a call without a receipt. */
function openCall(
  { status, recovery, attempt, toolCallId }: ToolCallRecord,
  attempts: readonly ToolCallAttempt[],
  waits: readonly WaitRecord[],
): readonly string[] {
  switch (status) {
    case "prepared":
      return [
        waits.some(({ status: state, kind }) => state === "open" && asksPermission(kind))
          ? "It is not sent before a person approves it."
          : "It has not been sent yet.",
      ];
    case "running":
      return attempts.some((each) => each.attempt === attempt)
        ? ["It has no result yet."]
        : [`Attempt ${attempt} is under way.`];
    case "in_doubt": {
      const retry = retryBy(waits);
      return [retry === null ? IN_DOUBT[recovery] : `${retry}, so a resume sends it again.`];
    }
    case "succeeded":
    case "failed":
    case "deduplicated":
    case "cancelled":
      throw new Error(`Call ${toolCallId} is ${status}, and has no receipt.`);
  }
}

const IN_DOUBT = {
  repeat: "It may be repeated, so a resume sends it again.",
  keyed:
    "The other side does it only once for the same key, so a resume sends it again while the key is valid.",
  reconcile: "A resume looks it up on the other side before anything else.",
  opaque: "Only a person can find out whether it happened: settle it.",
} as const;

/** The person who let a call in doubt run again. */
function retryBy(waits: readonly WaitRecord[]): string | null {
  const wait = waits.findLast(({ answer }) => answer !== null && "as" in answer && answer.as === "retry");
  return wait === undefined ? null : `${whoIn(wait)} let it run again`;
}

/** The names of those who answered a wait; of no person, if the clock did. */
function whoIn({ people }: WaitRecord): string {
  return people.length === 0 ? "A person" : namesInWords(people);
}

function settledCall(
  call: ToolCallRecord,
  receipt: Receipt,
  attempts: readonly ToolCallAttempt[],
  waits: readonly WaitRecord[],
): readonly string[] {
  if (receipt.duplicateOf !== null) return deduplicated(receipt, receipt.duplicateOf);
  switch (receipt.source) {
    case "tool":
      return toolAnswered(call, receipt, attempts, waits);
    case "reconciled": {
      const as = receipt.correlationId === null ? "" : ` as ${receipt.correlationId}`;
      return [`It was looked up on the other side and found${as}, and was not sent again.`];
    }
    case "person":
      return [`${settler(waits)} settled it as ${receipt.status}, and it was not sent again.`];
    case "late":
      return ["The worker that had lost the run reported its outcome, and it was not sent again."];
    case "pawl":
      return unsent(call, waits);
  }
}

function deduplicated(receipt: Receipt, duplicateOf: string): readonly string[] {
  const unlike = isUnlikeFirst(receipt) ? " Its arguments were not those of that call." : "";
  return [`It was not sent, because ${duplicateOf} had the same effect: this is its result.${unlike}`];
}

function toolAnswered(
  { attempt, recovery }: ToolCallRecord,
  { status }: Receipt,
  attempts: readonly ToolCallAttempt[],
  waits: readonly WaitRecord[],
): readonly string[] {
  const answer = status === "failed" ? "Its tool failed" : "Its tool answered";
  const before = attempts.filter((each) => each.attempt < attempt).at(-1);
  if (before === undefined) return [`${answer}.`];
  const isHarmless = before.outcome === "not_applied";
  const why = isHarmless ? "nothing had happened" : (retryClause(waits) ?? WHY_AGAIN[recovery]);
  return [`It was sent again, because ${why}.`, `${answer}, on attempt ${attempt}.`];
}

function retryClause(waits: readonly WaitRecord[]): string | null {
  const retry = retryBy(waits);
  // Inside of a sentence only the words of Pawl begin with a small letter, and not a name.
  return retry?.replace(/^A person /, "a person ") ?? null;
}

const WHY_AGAIN = {
  repeat: "it may be repeated",
  keyed: "it carries the same key, for which the other side does it only once",
  reconcile: "a look-up had found that it had not happened",
  opaque: "it had failed",
} as const;

function settler(waits: readonly WaitRecord[]): string {
  const wait = waits.findLast(({ status, kind }) => status === "answered" && !asksPermission(kind));
  return wait === undefined ? "A person" : whoIn(wait);
}

/** A receipt that Pawl wrote: the call was denied or is not valid, or its outcome stays unknown. */
function unsent({ attempt }: ToolCallRecord, waits: readonly WaitRecord[]): readonly string[] {
  if (attempt > 0) return ["Its caller got an unknown outcome, and it was not sent again."];
  const denial = waits.findLast(({ answer }) => answer !== null && "approved" in answer && !answer.approved);
  return [denial === undefined ? "Pawl refused it." : `${whoIn(denial)} denied it.`];
}

/** How often it left the process. */
function sentCount({ attempt }: ToolCallRecord, attempts: readonly ToolCallAttempt[]): string {
  const sent = attempt - attempts.filter(({ errorCode }) => errorCode === NOT_SENT).length;
  if (sent <= 0) return "Never sent.";
  return sent === 1 ? "Sent once." : `Sent ${sent} times.`;
}

/** What a worker that had lost the run reported after the call was settled. */
function lateEvidence({ attempt, late }: ToolCallAttempt, receipt: Receipt | null): readonly string[] {
  if (late === null) return [];
  const isOther = receipt !== null && receipt.status !== late.status;
  const but = isOther ? `, which is not what it was settled as (${receipt.status})` : "";
  return [`Evidence came later: attempt ${attempt} had ${late.status}${but}.`];
}
