import type { OnDue, WaitKind } from "../wait.ts";

/** A wait, as the clock sees it. */
export type TimedWait = {
  readonly kind: WaitKind;
  readonly dueAt: number | null;
  readonly onDue: OnDue | null;
  readonly remindAt: number | null;
};

export type DueDecision =
  /** Its time has not come: the clock never answers early. */
  | { readonly kind: "not_yet" }
  | { readonly kind: "remind" }
  | { readonly kind: "due"; readonly onDue: OnDue };

/** Decides what the clock does about an open wait. */
export function decideDue({ dueAt, onDue, remindAt }: TimedWait, now: number): DueDecision {
  if (dueAt !== null && dueAt <= now) return { kind: "due", onDue: onDue ?? { action: "escalate" } };
  return { kind: remindAt !== null && remindAt <= now ? "remind" : "not_yet" };
}

/** The next reminder after one that is due: reminders that were missed are not made up for. */
export function nextReminder(remindAt: number, everyMs: number, now: number): number {
  return remindAt + everyMs * (Math.floor((now - remindAt) / everyMs) + 1);
}

/** What may happen to a wait of a kind that nobody answers in time. Nothing is approved, or settled, by silence. */
export const ALLOWED_ON_DUE: { readonly [K in WaitKind]: readonly OnDue["action"][] } = {
  approval: ["deny", "escalate"],
  possible_duplicate: ["deny", "escalate"],
  in_doubt: ["escalate"],
  escalation: ["answer", "escalate"],
  question: ["answer", "fail", "escalate"],
  budget: ["deny", "escalate"],
  time: ["answer"],
  message: ["answer", "fail"],
};
