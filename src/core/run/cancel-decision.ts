export type CancelDecision =
  /** The run has ended. */
  | { readonly kind: "over" }
  /** Its worker has to end it: it alone knows what is in progress. */
  | { readonly kind: "requested" }
  /** No worker has it: it ends now. */
  | { readonly kind: "ended" };

/** Decides what a request to cancel a run does. */
export function decideCancel(status: string, isHeld: boolean): CancelDecision {
  if (!UNFINISHED.has(status)) return { kind: "over" };
  return { kind: isHeld ? "requested" : "ended" };
}

const UNFINISHED: ReadonlySet<string> = new Set(["queued", "running", "waiting"]);
