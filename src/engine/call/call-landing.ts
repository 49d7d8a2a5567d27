import type { ClockReading } from "../run/lease-keeper.ts";

/** When the last try of a call has ended at the latest. */
export type LastTry = {
  /**
   * By this worker's own monotonic clock, which nobody sets: for a try of its own, and for one that an earlier worker left.
   * Null where the call was never tried.
   */
  readonly ownEndsBy: number | null;
  /** By the clock on the wall, for a try of an earlier worker that is known to have ended; else null. */
  readonly endedBy: number | null;
};

/** For how long after a moment the last try may still take effect; 0 or less where it no longer can. */
export function mayLandFor({ ownEndsBy, endedBy }: LastTry, at: ClockReading, landsWithinMs: number): number {
  if (ownEndsBy === null) return 0;
  const byOwn = ownEndsBy + landsWithinMs - at.monotonic;
  return endedBy === null ? byOwn : Math.min(byOwn, endedBy + landsWithinMs - at.wall);
}
