import type { Receipt, ToolCallAttempt, ToolCallRecord } from "../../store/store.ts";
import { duration, timeOfDay } from "../figures.ts";
import { code, inline, jsonFence, sentence } from "../markdown.ts";
import { IN_RECEIPTS, resultText } from "../result-texts.ts";
import type { CallTry, EndedTry } from "../run-story.ts";

// What a transcript says of tool calls: what was asked for, each try, and what came of it.

/** `Call 1, pay`: how a turn's calls are named in its text. */
export function callName({ callIndex, tool }: ToolCallRecord): string {
  return `Call ${callIndex}, ${code(tool)}`;
}

/** The call as it was asked for. */
export function askedCall(call: ToolCallRecord): string {
  const { namespace, toolCallId, effect, recovery } = call;
  const from = namespace === "local" ? "" : ` of ${code(namespace)}`;
  return `**${callName(call)}**${from} (${code(toolCallId)}; effect ${code(effect)}, recovery ${code(recovery)}):\n\n${jsonFence(call.request, IN_RECEIPTS)}`;
}

/** A try after the first one, and what lets it go out again. */
export function startedTry({ call, attempt }: CallTry, at: number, before: ToolCallAttempt | null): string {
  const name = `${callName(call)}, goes out`;
  if (attempt <= 1) return `${name} at ${timeOfDay(at)}.`;
  return `${name} again at ${timeOfDay(at)}, try ${attempt}: ${whyAgain(call, before)}.`;
}

function whyAgain({ recovery }: ToolCallRecord, before: ToolCallAttempt | null): string {
  const outcome = before?.outcome ?? "failed";
  if (outcome === "not_applied") return "the try before it said that nothing had happened";
  const isUnknown = outcome === "lost" || outcome === "aborted" || outcome === "timed_out";
  return `${isUnknown ? "nobody knows what became of the try before it" : "the try before it failed"}, and ${WHY_SAFE[recovery]}`;
}

const WHY_SAFE = {
  repeat: "it may be repeated",
  keyed: "it carries the same key, so that the other side does it once",
  reconcile: "the other side was asked and had not done it, or a person let it run",
  opaque: "a person let it run",
} as const;

const OUTCOMES = {
  failed: "failed",
  not_applied: "did not happen",
  needs_human: "needs a person",
  timed_out: "was given up on",
  aborted: "was stopped",
  lost: "was lost with its worker",
} as const;

/** How a try ended that brought no receipt. */
export function endedTry({ call, attempt, outcome }: EndedTry, isInDoubt: boolean): string {
  const doubt = isInDoubt ? " Whether it happened is in doubt." : "";
  if (outcome === null) return `${callName(call)}, try ${attempt} has ended.${doubt}`;
  const took = duration(outcome.endedAt - outcome.startedAt);
  const why = outcome.errorDetail === null ? "." : `: ${sentence(outcome.errorDetail)}`;
  return `${callName(call)}, try ${attempt} took ${took} and ${OUTCOMES[outcome.outcome]}${why}${doubt}`;
}

/** What a worker that had lost the run said of a call that was settled by then. */
export function lateTry({ call, attempt, outcome }: EndedTry): string {
  const late = outcome?.late ?? null;
  const name = `${callName(call)}, try ${attempt}`;
  if (late === null) return `${name}: its first worker told of it when it was settled already.`;
  return `${name}: its first worker told at ${timeOfDay(late.at)} that it had ${code(late.status)}. The call was settled already, so this changes nothing:\n\n${jsonFence(late.output.value, IN_RECEIPTS)}`;
}

/** What a receipt alone does not have: who settled the call, and what its large result begins with. */
export type ReceiptFacts = { readonly settledBy: string | null; readonly beginning: string | null };

/** What came of a call, how that is known, and what whoever asked for it was given. */
export function settledCall(call: ToolCallRecord, { settledBy, beginning }: ReceiptFacts): string {
  const said = settledLine(call, settledBy);
  return call.receipt === null ? said : `${said}\n\n${resultText(call.receipt, beginning)}`;
}

/** The same without what was given. */
export function settledLine(call: ToolCallRecord, settledBy: string | null): string {
  const { receipt } = call;
  if (receipt === null) return `${callName(call)}, has no receipt.`;
  const facts = [
    receipt.correlationId === null ? null : `the other side calls it ${code(receipt.correlationId)}`,
    receipt.errorCode === null ? null : `error ${code(receipt.errorCode)}`,
    receipt.uncertain ? "it may have happened all the same" : null,
  ].filter((fact) => fact !== null);
  const more = facts.length === 0 ? "" : ` (${facts.join("; ")})`;
  return `${callName(call)}, **${receipt.status}** at ${timeOfDay(receipt.at)}: ${howSettled(call, receipt, settledBy)}${more}.`;
}

function howSettled(call: ToolCallRecord, receipt: Receipt, settledBy: string | null): string {
  if (receipt.duplicateOf !== null)
    return `it was not run, because ${code(receipt.duplicateOf)} had the same effect; this is that one's result`;
  switch (receipt.source) {
    case "tool":
      return call.attempt > 1 ? `its tool answered, on try ${call.attempt}` : "its tool answered";
    case "reconciled":
      return "the other side was asked what became of it, and this is what it said";
    case "person":
      return `${inline(settledBy ?? "a person")} settled it`;
    case "late":
      return "the worker that had lost the run told what became of it";
    case "pawl":
      return call.attempt === 0 ? "it was not run" : "this is what whoever asked for it was told";
  }
}
