/** A run of the same id that the store has. Hashes are in hex. */
export type RunThere = {
  /** An import of it has begun here and not ended. */
  readonly isArriving: boolean;
  /** It was moved to another store, and only read here since. */
  readonly isMovedAway: boolean;
  /** Its last event. */
  readonly seq: number;
  readonly hash: string;
  /** The hash of its event with the number of the bundle's last one; null if it has none. */
  readonly hashAtMove: string | null;
};

/** A run in a bundle. */
export type RunInBundle = {
  /** Its last event: the one that moved it here. */
  readonly seq: number;
  readonly hash: string;
  /** The hashes of all events that moved it, by their numbers. */
  readonly moves: ReadonlyMap<number, string>;
};

export type ArrivalDecision =
  /** Its rows are received. */
  | { readonly kind: "receive" }
  /** The bundle was imported before. */
  | { readonly kind: "arrived" }
  /** The store has another run of that id, or the same one, and never moved it away. */
  | { readonly kind: "another" };

/**
 * Decides what an import does. The log of a run only grows, and each event has the hash of the one before it, so a run
 * that was here before is recognised by its last event: a bundle continues it if it holds that event, and was imported
 * already if the store has the bundle's last one.
 */
export function decideArrival(there: RunThere | null, bundle: RunInBundle): ArrivalDecision {
  if (there === null) return { kind: "receive" };
  if (there.isArriving) return { kind: there.hash === bundle.hash ? "receive" : "another" };
  if (there.seq > bundle.seq) return { kind: there.hashAtMove === bundle.hash ? "arrived" : "another" };
  const isContinued = there.isMovedAway && bundle.moves.get(there.seq) === there.hash;
  return { kind: isContinued ? "receive" : "another" };
}
