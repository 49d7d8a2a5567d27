import type { RequestedResume } from "./resume-request.ts";

/** A run that a person wants to be resumed. */
export type RunToResume = {
  readonly status: string;
  /** A living process holds its lease. */
  readonly isHeld: boolean;
  /** The number of its last event. */
  readonly seq: number;
};

export type ResumeDecision =
  /** The run has succeeded, or lives in another store: there is nothing to resume. */
  | { readonly kind: "over" }
  /** A process works on it. */
  | { readonly kind: "busy" }
  /** It is no longer as the person has seen it. */
  | { readonly kind: "changed" }
  /** The next worker resumes it. */
  | { readonly kind: "requested" };

/** Decides what a request to resume a run does. `ifSeq` is the last event that the person has seen; null if any. */
export function decideResume({ status, isHeld, seq }: RunToResume, ifSeq: number | null): ResumeDecision {
  if (!RESUMABLE.has(status)) return { kind: "over" };
  if (isHeld) return { kind: "busy" };
  return { kind: ifSeq !== null && ifSeq !== seq ? "changed" : "requested" };
}

const RESUMABLE: ReadonlySet<string> = new Set(["queued", "running", "waiting", "failed", "cancelled"]);

/** From then on the step continues where it is: it has a new lineage, or its next model call is reserved. */
const BEGUN: readonly string[] = [
  "lineage.begun",
  "turn.opened",
  "turn.denied",
  "summary.opened",
  "summary.denied",
];

/** From then on the run is past the place where it was resumed. */
const PASSED: readonly string[] = ["turn.journaled", "turn.committed", "exchange.ended", "step.finished"];

/** The events that show how far a resume has come. */
export const RESUME_STEPS: readonly string[] = ["turn.dropped", "divergence.accepted", ...BEGUN, ...PASSED];

/**
 * What is left to do of a resume whose worker has stopped, by the types of the events since its claim; null once it is done.
 *
 * A worker may die at any time: what it has done must not be done again, and what it has not must not be lost. The log has
 * the answer, so that no commit of a turn has to note it. Receipts do not count: calls of the open turn are settled before
 * it is abandoned.
 *
 * A change is accepted once. The step then has the fingerprint of the agent that was accepted, so a next worker with that agent
 * finds no change, and one with yet another agent finds a change that nobody has seen.
 */
export function resumeLeft(resume: RequestedResume, since: readonly string[]): RequestedResume | null {
  const has = (types: readonly string[]) => since.some((type) => types.includes(type));
  if (has(PASSED)) return null;
  if (has(BEGUN)) return { ...resume, from: "turn", redoTurn: false, acceptDivergence: null };
  return {
    ...resume,
    redoTurn: resume.redoTurn && !has(["turn.dropped"]),
    acceptDivergence: has(["divergence.accepted"]) ? null : resume.acceptDivergence,
  };
}

/** What the worker that claims the run has to do, as its claim stores it. The limits are changed with the claim itself. */
export function takenResume(left: RequestedResume, takenSeq: number): RequestedResume {
  return { ...left, allowance: {}, takenSeq };
}

/**
 * What is left after a worker that leaves the run. Once the run waits, a change is accepted no more: the person has accepted the
 * one that they saw, and the run may wait for days and be found by a worker with another one.
 */
export function releasedResume(left: RequestedResume, status: "queued" | "waiting"): RequestedResume {
  return status === "waiting" ? { ...left, acceptDivergence: null } : left;
}
