import type { Json, JsonObject } from "./json.ts";

/**
 * `approval`: may it run? `in_doubt`: did it happen? `escalation`: its tool cannot go on by itself. `question`: what the
 * call is for; the answer is its result. `budget`: may the run use more than it was given?
 */
export type WaitKind = "approval" | "in_doubt" | "escalation" | "question" | "budget";

/** A question to a person that the run cannot go on without. */
export type NewWait = NewCallWait | NewBudgetWait;

/** One about the run as a whole: it has used up a budget. */
export type NewBudgetWait = {
  readonly kind: "budget";
  readonly question: string;
  readonly subject: { readonly budget: string; readonly limit: number; readonly used: number };
};

/** One about a call: which, and what to look at. */
export type NewCallWait = {
  readonly kind: Exclude<WaitKind, "budget">;
  readonly stepKey: number;
  readonly turnIndex: number;
  readonly callIndex: number;
  readonly question: string;
  /** What a person needs to see to decide: the tool, its exact arguments, what went wrong. */
  readonly subject: JsonObject;
  /** What an approval is bound to: the hash of the arguments that would go out. */
  readonly argumentsHash: string | null;
};

/** What a person says about a call in doubt. */
export type Settlement =
  /** It happened, and this is what it came to. */
  | { readonly as: "succeeded"; readonly result: Json }
  /** It did not happen, or may happen again: run it. */
  | { readonly as: "retry"; readonly why?: string }
  /** It did not happen, and is not to: whoever asked for it is told why. */
  | { readonly as: "failed"; readonly why: string };

/** What a wait was answered with. */
export type WaitAnswer =
  | { readonly approved: true }
  | { readonly approved: false; readonly why: string }
  | Settlement
  /** A sentence or a value, which becomes the result of the call that asked for it. */
  | { readonly as: "answered"; readonly value: Json };

/** `q-1~2` is the second wait of run q-1. */
export function waitId(runId: string, index: number): string {
  return `${runId}~${index}`;
}

export function parseWaitId(id: string): { readonly runId: string; readonly index: number } | null {
  const match = /^(.+)~([1-9]\d{0,9})$/.exec(id);
  return match?.[1] === undefined ? null : { runId: match[1], index: Number(match[2]) };
}
