/** What may be done when nobody knows whether a call happened. */
export type RecoveryClass = "repeat" | "keyed" | "reconcile" | "opaque";
export type SideEffectClass = "external" | "memory" | "local" | "read_only";
export type ToolCallStatus = "prepared" | "running" | "succeeded" | "failed";

export type ToolCallDecision =
  /** It was never dispatched: run it. */
  | { readonly kind: "execute" }
  /** It may have happened, and happening again is harmless (`repeat`) or refused by the key (`keyed`). */
  | { readonly kind: "retry" }
  /** It has a receipt: use it. */
  | { readonly kind: "replay" }
  /** It may have happened, and nothing here says that it may happen again. */
  | { readonly kind: "refuse" };

/** Decides about a call whose ledger row was found by a worker that did not dispatch it itself. */
export function decideToolCall(status: ToolCallStatus, recovery: RecoveryClass): ToolCallDecision {
  switch (status) {
    case "succeeded":
    case "failed":
      return { kind: "replay" };
    case "prepared":
      return { kind: "execute" };
    case "running":
      return { kind: recovery === "repeat" || recovery === "keyed" ? "retry" : "refuse" };
  }
}

export function defaultRecovery(effect: SideEffectClass): RecoveryClass {
  return effect === "read_only" ? "repeat" : "opaque";
}
