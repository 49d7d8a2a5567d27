/** What a process that looks at a lease knows of its owner. */
export type LeaseOwner =
  /** It was released, or its owner has given it up. */
  | "nobody"
  /** The store that asks. */
  | "self"
  /** The owner's process is proven to be dead. */
  | "dead"
  /** The owner's process shows that it lives; it may stand still all the same. */
  | "alive"
  /** Another boot, another machine, a lock file that is gone: nothing is known. */
  | "unknown";

export type LeaseFacts = {
  readonly owner: LeaseOwner;
  /** Until the stored end of the lease, by the clock on the wall; 0 or less once it is over. */
  readonly remainingMs: number;
  /** How long the lease lasts from one renewal to its end. */
  readonly leaseMs: number;
  /** For how long the asking store has seen it without a renewal, by its own monotonic clock. */
  readonly unchangedMs: number;
  /** What the asking store's own worker does with the run. Only of interest where the owner is `self`. */
  readonly own: "none" | "attending" | "left" | "effects_in_progress";
};

/**
 * Whether the run is another's to work on.
 *
 * No wall time frees a lease whose owner lives: clocks jump, and a process that stands still wakes. Only a whole lease
 * length without a renewal does, by the watcher's own monotonic clock. Where nothing is known of the owner the stored end
 * counts too; an end that lies further ahead than a lease is long comes from a clock that was wrong, and counts as one
 * lease length from first sight.
 */
export function isLeaseHeld({ owner, remainingMs, leaseMs, unchangedMs, own }: LeaseFacts): boolean {
  switch (owner) {
    case "nobody":
    case "dead":
      return false;
    case "self":
      return isOwnLeaseHeld(own, remainingMs);
    case "alive":
      return unchangedMs < leaseMs;
    case "unknown":
      return remainingMs > 0 && unchangedMs < leaseMs;
  }
}

/** A store takes a lease of its own again as soon as its worker has left the run, and nothing that it began is under way. */
function isOwnLeaseHeld(own: LeaseFacts["own"], remainingMs: number): boolean {
  switch (own) {
    case "left":
      return false;
    case "effects_in_progress":
      return true;
    case "attending":
    case "none":
      return remainingMs > 0;
  }
}

/** How long until the lease ends, unless it is renewed: as stored, where a clock that was right can have stored that. */
export function leaseEndsIn({ remainingMs, leaseMs, unchangedMs }: LeaseFacts): number {
  return remainingMs > 0 ? Math.min(remainingMs, leaseMs) : Math.max(0, leaseMs - unchangedMs);
}
