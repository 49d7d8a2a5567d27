/** The status in which a worker leaves its run. */
export type ReleaseStatus = ReleaseDecision["status"];

/**
 * What a release does: the new status of the run, that of its steps which were running, and what happens to its waits.
 * A wait that is kept can still be answered, because the run may be resumed.
 */
export type ReleaseDecision =
  | { readonly status: "succeeded"; readonly steps: "kept"; readonly waits: "withdrawn" }
  | { readonly status: "failed"; readonly steps: "failed"; readonly waits: "kept" }
  | { readonly status: "cancelled"; readonly steps: "failed"; readonly waits: "withdrawn" | "kept" }
  | { readonly status: "queued"; readonly steps: "ready"; readonly waits: "kept" }
  | { readonly status: "waiting"; readonly steps: "blocked"; readonly waits: "opened" };

/** Decides what a release does. A cancel request takes effect if the worker was about to leave the run to others. */
export function decideRelease(given: ReleaseStatus, isCancelRequested: boolean): ReleaseDecision {
  const isLeft = given === "queued" || given === "waiting";
  const status = isCancelRequested && isLeft ? "cancelled" : given;
  switch (status) {
    case "succeeded":
      return { status, steps: "kept", waits: "withdrawn" };
    case "failed":
      return { status, steps: "failed", waits: "kept" };
    case "cancelled":
      // A cancelled run needs no answers; one that was only interrupted may still get them.
      return { status, steps: "failed", waits: isCancelRequested ? "withdrawn" : "kept" };
    case "queued":
      return { status, steps: "ready", waits: "kept" };
    case "waiting":
      return { status, steps: "blocked", waits: "opened" };
  }
}
