import { ConfigurationError } from "../errors.ts";
import { stepId } from "../step-path.ts";

/** The stored state of a step's turns. */
export type StoredTurns = {
  /** The number of committed turns. */
  readonly committed: number;
  /** The index of the turn whose response is journaled but not committed. */
  readonly journaled: number | null;
  readonly isComplete: boolean;
  /** Null before the first turn. */
  readonly fingerprint: string | null;
};

export type TurnDecision =
  /** Ask the model. */
  | { readonly kind: "execute" }
  /** The model has answered already: use the journaled response, do not ask again. */
  | { readonly kind: "replay" }
  /** The turn is already committed (a ghost write): run nothing, touch no quota, check the exit condition again. */
  | { readonly kind: "skip" }
  /** The store is ahead of the caller: reload. */
  | { readonly kind: "behind" }
  /** A commit is missing before this turn: reload, never write past the gap. */
  | { readonly kind: "gap" }
  /** The prompt, model, tools, settings or input differ from the run's first turn: make no call of any kind. */
  | { readonly kind: "diverged" }
  /** The agent is done. */
  | { readonly kind: "finished" };

/**
 * Decides what to do about turn `expected`: the index that this iteration would commit, counted from 1.
 * A process that has just loaded the state passes `stored.committed + 1`.
 *
 * The fingerprint is checked first: whatever the indexes are, no run continues under another configuration.
 */
export function decideTurn(stored: StoredTurns, expected: number, fingerprint: string): TurnDecision {
  if (!Number.isSafeInteger(expected) || expected < 1) {
    throw new RangeError(`Turn ${expected} cannot be decided on: turns are counted from 1.`);
  }
  if (stored.fingerprint !== null && stored.fingerprint !== fingerprint) return { kind: "diverged" };
  if (stored.committed === expected) return { kind: "skip" };
  if (stored.isComplete) return { kind: "finished" };
  if (stored.committed > expected) return { kind: "behind" };
  if (stored.committed < expected - 1) return { kind: "gap" };
  return { kind: stored.journaled === expected ? "replay" : "execute" };
}

/** A journaled response can be dropped as long as none of its calls was dispatched or is settled. */
export function assertDroppable(turn: {
  readonly runId: string;
  readonly stepPath: string;
  readonly turnIndex: number;
  /** One of its calls was dispatched or is settled. */
  readonly isBegun: boolean;
}): void {
  if (!turn.isBegun) return;
  throw new ConfigurationError(
    `Turn ${turn.turnIndex} of ${stepId(turn.runId, turn.stepPath)} cannot be dropped: one of its calls was dispatched or is settled. Resume it as it is, or resume from a milestone.`,
  );
}
