import { isUnlikeFirst } from "../../core/call/duplicate-note.ts";
import type { Receipt, ToolCallAttempt, ToolCallRecord } from "../../store/store.ts";
import { duration, timeOfDay } from "../figures.ts";
import { code, inline, jsonFence, sentence } from "../markdown.ts";
import { IN_RECEIPTS, resultText } from "../result-texts.ts";
import type { EndedLoggedAttempt, LoggedAttempt } from "../run-incidents.ts";

// The texts about tool calls: the request, each attempt, and the outcome.

/** `Call 1, pay`: the name of a call in the text of its turn. */
export function callName({ callIndex, tool }: ToolCallRecord): string {
  return `Call ${callIndex}, ${code(tool)}`;
}

/** The call as it was requested. */
export function askedCall(call: ToolCallRecord): string {
  const { namespace, toolCallId, effect, recovery } = call;
  const from = namespace === "local" ? "" : ` of ${code(namespace)}`;
  return `**${callName(call)}**${from} (${code(toolCallId)}; effect ${code(effect)}, recovery ${code(recovery)}):\n\n${jsonFence(call.request, IN_RECEIPTS)}`;
}

/** The start of an attempt and, after the first one, why the call may run again. */
export function startedAttempt(
  { call, attempt }: LoggedAttempt,
  at: number,
  before: ToolCallAttempt | null,
): string {
  const name = `${callName(call)}, starts`;
  if (attempt <= 1) return `${name} at ${timeOfDay(at)}.`;
  return `${name} again at ${timeOfDay(at)}, attempt ${attempt}: ${whyAgain(call, before)}.`;
}

function whyAgain({ recovery }: ToolCallRecord, before: ToolCallAttempt | null): string {
  const outcome = before?.outcome ?? "failed";
  if (outcome === "not_applied") return "the previous attempt reported that nothing had happened";
  const isUnknown = outcome === "lost" || outcome === "aborted" || outcome === "timed_out";
  return `${isUnknown ? "the outcome of the previous attempt is unknown" : "the previous attempt failed"}, and ${WHY_SAFE[recovery]}`;
}

const WHY_SAFE = {
  repeat: "it may be repeated",
  keyed: "it carries the same key, so that the other side does it only once",
  reconcile: "a look-up found that it had not happened, or a person let it run",
  opaque: "a person let it run",
} as const;

const OUTCOMES = {
  failed: "failed",
  not_applied: "did not happen",
  needs_human: "needs a person",
  needs_wait: "waits",
  timed_out: "timed out",
  aborted: "was stopped",
  lost: "was lost with its worker",
} as const;

/** The end of an attempt without a receipt. */
export function endedAttempt({ call, attempt, outcome }: EndedLoggedAttempt): string {
  if (outcome === null) return `${callName(call)}, attempt ${attempt} has ended.`;
  const took = duration(outcome.endedAt - outcome.startedAt);
  const why = outcome.errorDetail === null ? "." : `: ${sentence(outcome.errorDetail)}`;
  return `${callName(call)}, attempt ${attempt} took ${took} and ${OUTCOMES[outcome.outcome]}${why}`;
}

/** The report of a worker that had lost the run, about a call that was already settled. */
export function lateAttempt({ call, attempt, outcome }: EndedLoggedAttempt): string {
  const late = outcome?.late ?? null;
  const name = `${callName(call)}, attempt ${attempt}`;
  if (late === null) return `${name}: its first worker reported it after the call was settled.`;
  return `${name}: its first worker reported at ${timeOfDay(late.at)} that it had ${code(late.status)}. The call was already settled, so this changes nothing:\n\n${jsonFence(late.output.value, IN_RECEIPTS)}`;
}

/** Facts that are not in a receipt: who settled the call, and the beginning of its large result. */
export type ReceiptFacts = { readonly settledBy: string | null; readonly beginning: string | null };

/** The outcome of a call, how it is known, and its result. */
export function settledCall(call: ToolCallRecord, { settledBy, beginning }: ReceiptFacts): string {
  const line = settledLine(call, settledBy);
  return call.receipt === null ? line : `${line}\n\n${resultText(call.receipt, beginning)}`;
}

/** The same without the result. */
export function settledLine(call: ToolCallRecord, settledBy: string | null): string {
  const { receipt } = call;
  if (receipt === null) return `${callName(call)}, has no receipt.`;
  const facts = [
    receipt.correlationId === null ? null : `the other side calls it ${code(receipt.correlationId)}`,
    receipt.errorCode === null || isUnlikeFirst(receipt) ? null : `error ${code(receipt.errorCode)}`,
    isUnlikeFirst(receipt) ? "its arguments were not those of that call" : null,
    receipt.uncertain ? "it may have happened anyway" : null,
  ].filter((fact) => fact !== null);
  const more = facts.length === 0 ? "" : ` (${facts.join("; ")})`;
  return `${callName(call)}, **${receipt.status}** at ${timeOfDay(receipt.at)}: ${howSettled(call, receipt, settledBy)}${more}.`;
}

function howSettled(call: ToolCallRecord, receipt: Receipt, settledBy: string | null): string {
  if (receipt.duplicateOf !== null)
    return `it was not run, because ${code(receipt.duplicateOf)} had the same effect; this is its result`;
  switch (receipt.source) {
    case "tool":
      return call.attempt > 1 ? `its tool answered, on attempt ${call.attempt}` : "its tool answered";
    case "reconciled":
      return "it was looked up on the other side, with this result";
    case "person":
      return `${inline(settledBy ?? "a person")} settled it`;
    case "late":
      return "the worker that had lost the run reported its outcome";
    case "pawl":
      return call.attempt === 0 ? "it was not run" : "this is the answer that its caller got";
  }
}
