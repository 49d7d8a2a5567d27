/** What a process that inspects a lease knows about its owner. */
export type LeaseOwner =
  /** The lease was released, or its owner has given it up. */
  | "nobody"
  /** The store that inspects it. */
  | "self"
  /** The owner's process is proven to be dead. */
  | "dead"
  /** Its session is gone, twice in a row: its runs may be taken, although its process may live. */
  | "gone"
  /** The owner's process is proven to be alive; it may be stopped, though. */
  | "alive"
  /** Another boot, another machine, a missing lock file: nothing is known. */
  | "unknown";

export type LeaseFacts = {
  readonly owner: LeaseOwner;
  /** Until the stored end of the lease, by the wall clock; 0 or less once it has expired. */
  readonly remainingMs: number;
  /** The length of the lease from a renewal to its end. */
  readonly leaseMs: number;
  /** How long the inspecting store has seen no renewal, by its own monotonic clock. */
  readonly unchangedMs: number;
  /** What the inspecting store's own worker does with the run. Only relevant if the owner is `self`. */
  readonly own: "none" | "attending" | "left" | "effects_in_progress";
};

/**
 * True if the run still belongs to the owner of the lease.
 *
 * Wall time alone never frees a lease whose owner is alive: clocks jump, and a stopped process wakes up again. It takes a
 * whole lease length without a renewal, by the watcher's own monotonic clock. If nothing is known about the owner, the
 * stored end counts, too; an end further ahead than a lease is long comes from a wrong clock, and counts as one lease
 * length from when it was first seen.
 */
export function isLeaseHeld({ owner, remainingMs, leaseMs, unchangedMs, own }: LeaseFacts): boolean {
  switch (owner) {
    case "nobody":
    case "dead":
    case "gone":
      return false;
    case "self":
      return isOwnLeaseHeld(own, remainingMs);
    case "alive":
      return unchangedMs < leaseMs;
    case "unknown":
      return remainingMs > 0 && unchangedMs < leaseMs;
  }
}

/** A store may claim its own lease again as soon as its worker has left the run and none of its effects is in progress. */
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

/** The time until the lease expires if it is not renewed: the stored end, if a correct clock can have stored it. */
export function leaseEndsIn({ remainingMs, leaseMs, unchangedMs }: LeaseFacts): number {
  return remainingMs > 0 ? Math.min(remainingMs, leaseMs) : Math.max(0, leaseMs - unchangedMs);
}
