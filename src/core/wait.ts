import type { Json, JsonObject } from "./json.ts";

/**
 * - `approval`: a rule asks for a person before the call runs. May it?
 * - `possible_duplicate`: an earlier call may have had the same effect. May this one run as well?
 * - `in_doubt`: did the call happen?
 * - `escalation`: the tool of the call needs a person to continue.
 * - `question`: the call itself asks a person, and the answer is its result.
 * - `budget`: may the run exceed its budget?
 */
export type WaitKind = "approval" | "possible_duplicate" | "in_doubt" | "escalation" | "question" | "budget";

/** True for a question about whether a call may run: `approve` and `deny` answer it, for exactly these arguments. */
export function asksPermission(kind: WaitKind): kind is "approval" | "possible_duplicate" {
  return kind === "approval" || kind === "possible_duplicate";
}

/** A question that a person must answer before the run can continue. */
export type NewWait = NewCallWait | NewBudgetWait;

/** A question about the run as a whole: it has used up a budget. */
export type NewBudgetWait = {
  readonly kind: "budget";
  readonly question: string;
  readonly subject: { readonly budget: string; readonly limit: number; readonly used: number };
};

/** A question about a call. */
export type NewCallWait = {
  readonly kind: Exclude<WaitKind, "budget">;
  readonly stepKey: number;
  readonly turnIndex: number;
  readonly callIndex: number;
  readonly question: string;
  /** What a person must see to decide: the tool, its exact arguments, the error. */
  readonly subject: JsonObject;
  /** The hash of the arguments that would be sent: an approval is bound to it. */
  readonly argumentsHash: string | null;
};

/** A person's decision about a call in doubt. */
export type Settlement =
  /** It happened, with this result. */
  | { readonly as: "succeeded"; readonly result: Json }
  /** It did not happen, or may happen again: run it. */
  | { readonly as: "retry"; readonly why?: string }
  /** It did not happen and must not: the model or code that made the call gets the reason. */
  | { readonly as: "failed"; readonly why: string };

/** The answer to a wait. */
export type WaitAnswer =
  | { readonly approved: true }
  | { readonly approved: false; readonly why: string }
  | Settlement
  /** A text or a value, which becomes the result of the call that asked. */
  | { readonly as: "answered"; readonly value: Json };

/** `q-1~2` is the second wait of run q-1. */
export function waitId(runId: string, index: number): string {
  return `${runId}~${index}`;
}

export function parseWaitId(id: string): { readonly runId: string; readonly index: number } | null {
  const match = /^(.+)~([1-9]\d{0,9})$/.exec(id);
  return match?.[1] === undefined ? null : { runId: match[1], index: Number(match[2]) };
}
