import type { Json, JsonObject } from "./json.ts";

/**
 * - `approval`: a rule asks for a person before the call runs. May it?
 * - `possible_duplicate`: an earlier call may have had the same effect. May this one run as well?
 * - `in_doubt`: did the call happen?
 * - `escalation`: the tool of the call needs a person to continue.
 * - `question`: the call itself asks a person, and the answer is its result.
 * - `budget`: may the run exceed its budget?
 * - `time`: the call waits until a time. The clock answers it.
 * - `message`: the call, or a conversation, waits for a message. The mailbox of the run answers it.
 */
export type WaitKind = PersonWaitKind | "time" | "message";

/** The kinds of waits that people answer. */
export type PersonWaitKind =
  | "approval"
  | "possible_duplicate"
  | "in_doubt"
  | "escalation"
  | "question"
  | "budget";

/** True for a wait that people answer. */
export function asksPeople(kind: WaitKind): kind is PersonWaitKind {
  return kind !== "time" && kind !== "message";
}

/** True for a question about whether a call may run: `approve` and `deny` answer it, for exactly these arguments. */
export function asksPermission(kind: WaitKind): kind is "approval" | "possible_duplicate" {
  return kind === "approval" || kind === "possible_duplicate";
}

/** What happens to a wait that nothing has answered in time. */
export type OnDue =
  /** It is answered with this value; for a sleep, and for a receive that continues without a message, the result of the call. */
  | { readonly action: "answer"; readonly value: Json }
  /** The call fails, and its caller gets the reason. */
  | { readonly action: "fail"; readonly why: string }
  /** The call is not run, and its caller gets the reason. */
  | { readonly action: "deny"; readonly why: string }
  /** The wait stays open, and is marked for people to see. */
  | { readonly action: "escalate" };

/** When the clock acts on a wait. The store computes the time once, by its own clock, and keeps it. */
export type WaitClock = {
  /** From when the wait is opened, or a time in milliseconds since 1970. */
  readonly due?: { readonly inMs: number } | { readonly at: number };
  /** What happens then. */
  readonly onDue?: OnDue;
  /** How often people are reminded until then. */
  readonly remindEveryMs?: number;
};

/** What a tool waits for that throws `NeedsWait`. */
export type NeededWait = WaitClock & {
  readonly kind: "time" | "message";
  /** The name of the event that it waits for, or the beginning of its name and a `*`. */
  readonly matches?: string;
  /** A name by which messages reach the run from then on, until it has ended. */
  readonly address?: string;
};

/** What has to be answered before the run can continue. */
export type NewWait = NewCallWait | NewBudgetWait | NewRunWait | NewMailWait;

/** A conversation waits for the next message of anybody. */
export type NewMailWait = WaitClock & {
  readonly kind: "message";
  readonly question: string;
  readonly subject: { readonly conversation: string; readonly after: number };
};

/** What the wait of a conversation is about: its step, and its last exchange. The same subject is the same wait. */
export function mailSubject(stepPath: string, lastExchange: number): NewMailWait["subject"] {
  return { conversation: stepPath, after: lastExchange };
}

/** The answer of the clock to a conversation that nobody writes to. */
export const CLOSED = { closed: true } as const;

/** True for the wait of a conversation. */
export function isMailWait(wait: NewWait): wait is NewMailWait {
  return wait.kind === "message" && !("stepKey" in wait);
}

/** A question about the run as a whole that only a person can answer. */
export type NewRunWait = WaitClock & {
  readonly kind: "escalation";
  readonly question: string;
  /** What a person must see to decide. The same subject is the same question. */
  readonly subject: JsonObject;
};

/** A question about the run as a whole: it has used up a budget. */
export type NewBudgetWait = WaitClock & {
  readonly kind: "budget";
  readonly question: string;
  readonly subject: { readonly budget: string; readonly limit: number; readonly used: number };
};

/** What a call waits for. */
export type NewCallWait = WaitClock & {
  readonly kind: Exclude<WaitKind, "budget">;
  readonly stepKey: number;
  readonly turnIndex: number;
  readonly callIndex: number;
  readonly question: string;
  /** What a person must see to decide: the tool, its exact arguments, the error. */
  readonly subject: JsonObject;
  /** The hash of the arguments that would be sent: an approval is bound to it. */
  readonly argumentsHash: string | null;
  /** For a wait of the kind `message`. */
  readonly matches?: string;
  /** For a wait of the kind `message`: the run gets this address. If another one has it, the call fails. */
  readonly address?: string;
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
  | { readonly as: "answered"; readonly value: Json }
  /** The call has failed: nothing came in time. */
  | { readonly as: "timed_out"; readonly why: string };

/** `q-1~2` is the second wait of run q-1. */
export function waitId(runId: string, index: number): string {
  return `${runId}~${index}`;
}

export function parseWaitId(id: string): { readonly runId: string; readonly index: number } | null {
  const match = /^(.+)~([1-9]\d{0,9})$/.exec(id);
  return match?.[1] === undefined ? null : { runId: match[1], index: Number(match[2]) };
}
