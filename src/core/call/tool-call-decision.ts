/** What may be done about a call whose outcome is unknown. */
export type RecoveryClass = "repeat" | "keyed" | "reconcile" | "opaque";
/** What a tool changes: something outside (`external`), the agent's memory, local files, or nothing. */
export type SideEffectClass = "external" | "memory" | "local" | "read_only";

/**
 *   prepared ─► running ─► succeeded | failed
 *      │          │ ▲
 *      │          ▼ │
 *      │        in_doubt ─► succeeded | failed
 *      └─► deduplicated | cancelled
 *
 * A call in one of the last four states has its receipt and never changes again.
 */
export type ToolCallStatus = UnsettledStatus | ReceiptStatus;
export type UnsettledStatus = "prepared" | "running" | "in_doubt";
export type ReceiptStatus = "succeeded" | "failed" | "deduplicated" | "cancelled";

export function defaultRecovery(effect: SideEffectClass): RecoveryClass {
  return effect === "read_only" ? "repeat" : "opaque";
}

/** The facts that decide what happens to a call. */
export type ToolCallFacts = {
  readonly status: ToolCallStatus;
  readonly recovery: RecoveryClass;
  /** Who decides when the outcome stays unknown: `ask` a person, or `tell` the model. */
  readonly inDoubt: "ask" | "tell";
  readonly canReconcile: boolean;
  /** The outside system still knows the key, so that it drops a second call. */
  readonly keyIsValid: boolean;
  /** Each of its attempts reported that nothing happened. */
  readonly wasNotApplied: boolean;
  /** A person has looked at the call in doubt and decided to run it again. */
  readonly isRetryRequested: boolean;
  readonly approval: "not_needed" | "needed" | "given" | "outdated" | "denied";
  /**
   * The outcome of an earlier call with the same identity. `left_over`: before it was restarted, the step made another call
   * of this tool, and has not made that call again.
   */
  readonly earlier: "none" | "succeeded" | "uncertain" | "left_over";
};

export type ToolCallDecision =
  /** The call was never dispatched: run it. */
  | { readonly kind: "execute" }
  /** It has a receipt: use it. */
  | { readonly kind: "replay" }
  /** The same effect succeeded earlier, and must happen only once: reuse that receipt. */
  | { readonly kind: "deduplicate" }
  /** It may have happened, and another attempt is harmless: by its nature, by its key, or by a person's decision. */
  | { readonly kind: "retry" }
  /** It may have happened: look it up in the outside system. */
  | { readonly kind: "reconcile" }
  /** A person has to decide. */
  | { readonly kind: "ask"; readonly why: AskReason }
  /** It is not run; the model or code that made the call gets the reason. */
  | { readonly kind: "refuse"; readonly why: RefusalReason };

export type AskReason = "approval" | "outdated_approval" | "uncertain_before" | "left_over" | "in_doubt";
type RefusalReason = "denied" | "unknown_outcome";

/** Decides what to do about a call. This file is the whole argument for "never silently twice". */
export function decideToolCall(call: ToolCallFacts): ToolCallDecision {
  switch (call.status) {
    case "succeeded":
    case "failed":
    case "deduplicated":
    case "cancelled":
      return { kind: "replay" };
    case "prepared":
      return decidePrepared(call);
    // This worker did not dispatch it: the call was running when its worker stopped.
    case "running":
    case "in_doubt":
      return decideInDoubt(call);
  }
}

function decidePrepared(call: ToolCallFacts): ToolCallDecision {
  if (call.earlier === "succeeded") return { kind: "deduplicate" };
  switch (call.approval) {
    case "denied":
      return { kind: "refuse", why: "denied" };
    case "needed":
      return { kind: "ask", why: WHY_ASK[call.earlier] };
    case "outdated":
      return { kind: "ask", why: "outdated_approval" };
    case "given":
    case "not_needed":
      return { kind: "execute" };
  }
}

const WHY_ASK = { none: "approval", uncertain: "uncertain_before", left_over: "left_over" } as const;

function decideInDoubt(call: ToolCallFacts): ToolCallDecision {
  if (call.isRetryRequested || call.wasNotApplied) return retry(call);
  switch (call.recovery) {
    case "repeat":
      return retry(call);
    case "keyed":
      if (call.keyIsValid) return retry(call);
      return call.canReconcile ? { kind: "reconcile" } : unknown(call);
    case "reconcile":
      return { kind: "reconcile" };
    case "opaque":
      return unknown(call);
  }
}

/** An approval covers every attempt of its call, with exactly the arguments that were approved. */
function retry(call: ToolCallFacts): ToolCallDecision {
  switch (call.approval) {
    case "not_needed":
    case "given":
      return { kind: "retry" };
    case "needed":
    case "outdated":
      return { kind: "ask", why: "outdated_approval" };
    case "denied":
      return unknown(call);
  }
}

function unknown({ inDoubt }: { readonly inDoubt: "ask" | "tell" }): ToolCallDecision {
  return inDoubt === "tell" ? { kind: "refuse", why: "unknown_outcome" } : { kind: "ask", why: "in_doubt" };
}

/** The result of looking up a call in doubt in the outside system. */
export type ReconcileStatus = "done" | "absent" | "unknown";

export type ReconcileDecision =
  /** It happened: the result that was found becomes its receipt. */
  | { readonly kind: "adopt" }
  /** It did not happen, and no longer can. */
  | { readonly kind: "retry" }
  /** It has not happened yet: look again when the old attempt can no longer land. */
  | { readonly kind: "wait" }
  | Extract<ToolCallDecision, { kind: "ask" | "refuse" }>;

/** A call in doubt, after a look-up. */
export type LookedUpCall = {
  readonly found: ReconcileStatus;
  /** The old attempt may still take effect. */
  readonly canStillLand: boolean;
  readonly inDoubt: "ask" | "tell";
};

export function decideReconciled({ found, canStillLand, inDoubt }: LookedUpCall): ReconcileDecision {
  switch (found) {
    case "done":
      return { kind: "adopt" };
    case "absent":
      return { kind: canStillLand ? "wait" : "retry" };
    case "unknown":
      return unknown({ inDoubt }) as Extract<ToolCallDecision, { kind: "ask" | "refuse" }>;
  }
}

/** How an attempt without a result ended. */
export type FailedAttemptOutcome =
  | "failed"
  | "not_applied"
  | "needs_human"
  | "needs_wait"
  | "timed_out"
  | "aborted"
  | "lost";

/** The error code of an attempt that was lost with its process: no part of it is still running. */
export const PROCESS_ENDED = "process_ended";

/** The error code of an attempt that certainly never left its process. */
export const NOT_SENT = "not_sent";

export type FailedAttemptDecision =
  /** Another attempt, with the same key, after a pause. */
  | { readonly kind: "retry" }
  /** The model sees the error. Uncertain: it may have happened, so that the same call again needs a person. */
  | { readonly kind: "fail"; readonly uncertain: boolean }
  /** It is unknown whether it happened: `decideToolCall` decides next. */
  | { readonly kind: "doubt" }
  /** The tool asked for a person, or keeps failing in the same way. */
  | { readonly kind: "escalate" }
  /** The tool waits for the clock or for a message. */
  | { readonly kind: "wait" };

export type FailedAttemptFacts = {
  readonly outcome: Exclude<FailedAttemptOutcome, "lost">;
  readonly recovery: RecoveryClass;
  readonly retriesLeft: number;
  /** The tool failed with the same error too often. */
  readonly isSameAgain: boolean;
  /** An earlier attempt of the same call may have had its effect, whatever this one reports about itself. */
  readonly mayHaveHappened: boolean;
};

export function decideFailedAttempt({
  outcome,
  recovery,
  retriesLeft,
  isSameAgain,
  mayHaveHappened,
}: FailedAttemptFacts): FailedAttemptDecision {
  if (outcome === "needs_human") return { kind: "escalate" };
  if (outcome === "needs_wait") return { kind: "wait" };
  // The run was cancelled or taken over: the worker that resumes it decides.
  if (outcome === "aborted") return { kind: "doubt" };
  if (isSameAgain) return { kind: "escalate" };
  const again = outcome === "not_applied" || recovery === "repeat" || recovery === "keyed";
  if (again && retriesLeft > 0) return { kind: "retry" };
  if (again)
    return {
      kind: "fail",
      uncertain: recovery !== "repeat" && (mayHaveHappened || outcome !== "not_applied"),
    };
  if (recovery === "reconcile" || outcome === "timed_out") return { kind: "doubt" };
  return { kind: "fail", uncertain: true };
}
