/** A run that a worker asks for. */
export type RunToClaim = {
  readonly status: string;
  /** A living process holds its lease. */
  readonly isHeld: boolean;
  readonly isCancelRequested: boolean;
  /** It is queued for a later time, and the claim is for a run that is ready. */
  readonly isEarly: boolean;
};

export type ClaimDecision =
  | { readonly kind: "claim" }
  /** Another worker has it. */
  | { readonly kind: "busy" }
  /** It is in none of the statuses that the worker asked for. */
  | { readonly kind: "refused" }
  /** Its worker died before it saw the cancel request: the run is cancelled now, and not claimed. */
  | { readonly kind: "end_abandoned" };

/** Decides what a claim does. Only a claim that accepts cancelled runs resumes one that is to be cancelled. */
export function decideClaim(run: RunToClaim, from: readonly string[]): ClaimDecision {
  if (run.isHeld) return { kind: "busy" };
  if (run.isCancelRequested && !from.includes("cancelled")) return { kind: "end_abandoned" };
  return { kind: from.includes(run.status) && !run.isEarly ? "claim" : "refused" };
}
