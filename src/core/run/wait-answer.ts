import { assertPayload, canonicalJson } from "../canonical-json.ts";
import { ConfigurationError } from "../errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import type { ToolOutput } from "../message.ts";
import { type Decision, namesInWords } from "../person.ts";
import type { Settlement, WaitKind } from "../wait.ts";

/** The wait that a person answers. */
export type AnsweredWait = {
  readonly id: string;
  readonly kind: WaitKind;
  readonly status: "open" | "answered" | "withdrawn";
  readonly people: readonly Decision[];
};

export type WaitAnswerDecision =
  | { readonly kind: "accepted" }
  /** The wait is no longer open. */
  | { readonly kind: "settled"; readonly why: string }
  /** It is not answered in this way. */
  | { readonly kind: "refused"; readonly why: string };

/** Decides whether a wait accepts an answer of a kind that waits of these kinds take. */
export function decideWaitAnswer(wait: AnsweredWait, kinds: readonly WaitKind[]): WaitAnswerDecision {
  const { id, kind, status, people } = wait;
  if (status === "answered")
    return {
      kind: "settled",
      why: `Wait ${id} was already answered by ${namesInWords(people)}: the answer stays as it is.`,
    };
  if (status === "withdrawn") return { kind: "settled", why: `Wait ${id} is ${status}: it stays as it is.` };
  if (!kinds.includes(kind))
    return { kind: "refused", why: `Wait ${id} is about ${ABOUT[kind]}: ${HOW_TO_ANSWER[kind]}.` };
  return { kind: "accepted" };
}

const ABOUT = {
  approval: "the approval of a call",
  possible_duplicate: "a call whose effect may have happened before",
  in_doubt: "a call in doubt",
  escalation: "a call that needs a person",
  question: "a question",
  budget: "a budget that is used up",
  time: "a time that has not come",
  message: "a message that has not come",
} as const satisfies { readonly [K in WaitKind]: string };

const HOW_TO_ANSWER = {
  approval: "approve or deny it",
  possible_duplicate: "approve or deny it",
  in_doubt: "settle its call",
  escalation: "answer it, or settle its call",
  question: "answer it",
  budget: "answer it with the new limit, or deny it",
  time: "the clock answers it",
  message: "send the message to the run",
} as const satisfies { readonly [K in WaitKind]: string };

/** A wait that the clock or a message answers. */
export type SleepingWait = {
  readonly kind: "time" | "message";
  readonly matches: string | null;
  readonly dueAt: number | null;
};

/** `until 2026-11-18T08:00:00.000Z`, `for payment.*, until …`: what a call or a run sleeps for. */
export function sleepInWords({ kind, matches, dueAt }: SleepingWait): string {
  const until = dueAt === null ? [] : [`until ${new Date(dueAt).toISOString()}`];
  return kind === "time" ? until.join("") : [`for ${matches ?? "a message"}`, ...until].join(", ");
}

/** Why a call that sleeps cannot be settled: it is known that it has not ended. */
export function reasonNotToSettle(toolCallId: string, runId: string, wait: SleepingWait): string {
  const instead =
    wait.kind === "time"
      ? "the clock ends that"
      : "send the message, `pawl send`, or let its time limit pass";
  return `Call ${toolCallId} is not in doubt, it waits ${sleepInWords(wait)}: ${instead}; to give it up, cancel run ${runId}.`;
}

/** Decides whether a question accepts this value: one with choices accepts only one of them. */
export function decideChoice(id: string, { arguments: asked }: JsonObject, value: Json): WaitAnswerDecision {
  const choices = isJsonObject(asked) && Array.isArray(asked.choices) ? asked.choices : null;
  if (choices === null || choices.some((choice) => choice === value)) return { kind: "accepted" };
  const shown = choices.map((choice) => JSON.stringify(choice)).join(", ");
  return {
    kind: "refused",
    why: `${JSON.stringify(value)} is none of the answers to ${id}: use one of ${shown}.`,
  };
}

/** The part of a receipt that a person decides. */
export type PersonReceipt = {
  readonly status: "succeeded" | "failed";
  readonly output: ToolOutput;
  readonly errorCode: string | null;
  readonly uncertain: boolean;
};

/** The receipt of a call that is a question: the answer is its result, as if a tool had returned it. */
export function receiptOfAnswer(value: Json): PersonReceipt {
  const output: ToolOutput = typeof value === "string" ? { type: "text", value } : { type: "json", value };
  return { status: "succeeded", output, errorCode: null, uncertain: false };
}

/** The receipt of a call whose tool asked for a person. The answer does not say whether the call has happened. */
export function receiptOfEscalation(value: Json, mayHaveHappened: boolean): PersonReceipt {
  const text = typeof value === "string" ? value : canonicalJson(value);
  return {
    status: "failed",
    output: { type: "error-text", value: `It needed a person, who answered: ${text}` },
    errorCode: "answered",
    uncertain: mayHaveHappened,
  };
}

/** The receipt of a call that nothing answered in time. */
export function timedOutReceipt(why: string): PersonReceipt {
  return {
    status: "failed",
    output: { type: "error-text", value: why },
    errorCode: "timed_out",
    uncertain: false,
  };
}

/** What is decided about a call in doubt. */
export type SettlementDecision =
  | { readonly kind: "receipt"; readonly receipt: PersonReceipt }
  /** It may run again. */
  | { readonly kind: "retry" };

/** Checks the values at run time, for callers without types. */
export function decideSettlement(toolCallId: string, settlement: Settlement): SettlementDecision {
  switch (settlement.as) {
    case "succeeded":
      assertPayload(settlement.result, "The result");
      return { kind: "receipt", receipt: receiptOfAnswer(settlement.result) };
    case "failed": {
      const value = `It was settled as failed: ${assertReason(settlement.why)}`;
      const output = { type: "error-text", value } as const;
      return {
        kind: "receipt",
        receipt: { status: "failed", output, errorCode: "settled_failed", uncertain: false },
      };
    }
    case "retry":
      return { kind: "retry" };
    default:
      throw new ConfigurationError(
        `Call ${toolCallId} cannot be settled as ${JSON.stringify((settlement as { as?: unknown }).as)}: use succeeded, retry or failed.`,
      );
  }
}

/** A reason goes to the model, or to the code that made the call. */
export function assertReason(why: unknown): string {
  if (typeof why === "string" && why.trim() !== "") return why;
  throw new ConfigurationError(
    "Give the reason in a sentence: the model, or the code that made the call, gets it.",
  );
}
