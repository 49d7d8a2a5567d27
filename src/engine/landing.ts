import type { ClockReading } from "./lease-keeper.ts";

/** When the last try of a call has ended at the latest. */
export type LastTry = {
  /** By the clock on the wall; null where it was never tried. */
  readonly endsBy: number | null;
  /** By the monotonic clock, for a try of this very worker: nobody sets that one. */
  readonly ownEndsBy: number | null;
};

/** For how long after a moment the last try may still take effect; 0 or less where it no longer can. */
export function mayLandFor({ endsBy, ownEndsBy }: LastTry, at: ClockReading, landsWithinMs: number): number {
  const byWall = (endsBy ?? at.wall) + landsWithinMs - at.wall;
  // A wall clock that is set forward does not make a try land sooner.
  return ownEndsBy === null ? byWall : Math.max(byWall, ownEndsBy + landsWithinMs - at.monotonic);
}
