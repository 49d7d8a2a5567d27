import type { RunRecord, RunStatus } from "../../store/store.ts";

/** A run that was being worked on when its process died: nobody holds it. */
export function isInterrupted(run: RunRecord, now: number): boolean {
  return run.status === "running" && run.leaseUntil <= now;
}

/** What people want to know: a run that nobody works on is not running. */
export function shownStatus(run: RunRecord, now: number): RunStatus | "interrupted" {
  return isInterrupted(run, now) ? "interrupted" : run.status;
}

/** It goes on only where somebody resumes it. */
export function hasEnded({ status }: Pick<RunRecord, "status">): boolean {
  return status === "succeeded" || status === "failed" || status === "cancelled";
}
