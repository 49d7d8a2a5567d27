import type { RunRecord, ShownStatus } from "../store/store.ts";

/** True for a running run whose lease has expired: its worker died. */
export function isInterrupted(run: Pick<RunRecord, "status" | "leaseUntil">, now: number): boolean {
  return run.status === "running" && run.leaseUntil <= now;
}

/** The status for people. */
export function shownStatus(run: Pick<RunRecord, "status" | "leaseUntil">, now: number): ShownStatus {
  return isInterrupted(run, now) ? "interrupted" : run.status;
}

/** True if the run continues only when it is resumed, or in another store. */
export function hasEnded({ status }: Pick<RunRecord, "status">): boolean {
  return status === "succeeded" || status === "failed" || status === "cancelled" || status === "moved";
}
