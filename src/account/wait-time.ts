import type { WaitRecord } from "../store/store.ts";
import { formatMoment } from "./local-time.ts";

/** The times of a wait: when the clock acts on it, and what that is. */
type TimedRecord = Pick<WaitRecord, "kind" | "dueAt" | "onDue" | "matches" | "escalatedAt">;

/** `until 08:00`, `for payment.confirmed`, `for payment.confirmed, until 2026-11-18 08:00`; null for a question to people. */
export function awaitedText({ kind, dueAt, matches }: TimedRecord, now: number): string | null {
  const until = dueAt === null ? null : `until ${formatMoment(dueAt, now)}`;
  if (kind === "time") return until ?? "for a time";
  if (kind !== "message") return null;
  return [`for ${matches ?? "the next message"}`, ...(until === null ? [] : [until])].join(", ");
}

/** True for a conversation that waits until a person writes again. */
export function isForNextText({ kind, matches }: Pick<WaitRecord, "kind" | "matches">): boolean {
  return kind === "message" && matches === null;
}

/** Whom or what a run waits for: `a message`, `payment.confirmed`, `a time`, `a person`. */
export function awaitedKind({ kind, matches }: Pick<WaitRecord, "kind" | "matches">): string {
  if (kind === "message") return matches ?? "a message";
  return kind === "time" ? "a time" : "a person";
}

const AT_LAST = {
  answer: "it is answered",
  fail: "it fails",
  deny: "it is denied",
  escalate: "it is escalated",
};

/** The time limit of a question to people, or that it has passed; null if it has none. */
export function timeLimitText({ dueAt, onDue, escalatedAt }: TimedRecord, now: number): string | null {
  if (escalatedAt !== null) return `no answer came in time, since ${formatMoment(escalatedAt, now)}`;
  return dueAt === null ? null : `${formatMoment(dueAt, now)}; then ${AT_LAST[onDue?.action ?? "escalate"]}`;
}
