import type { EffectAttempt } from "../store.ts";

/**
 * What is known about an owner's process. `dead` is final and proven; `gone` permits taking its runs and proves nothing;
 * the others are the last observation.
 */
export type OwnerLiveness = "dead" | "gone" | "alive" | "unknown";

/** Shows other processes that this store's process lives, and sees whether theirs do. Each database has its own way. */
export interface OwnerWatch {
  /** Names this store in leases. */
  readonly owner: string;
  /**
   * Rises when other processes could no longer see that this one lives, and now can again. Until a renewal has confirmed
   * a run since then, nothing may begin for it.
   */
  readonly generation: number;
  /** Resolves once other processes can see that this one lives. */
  held(): Promise<void>;
  /** The last observation of an owner whose lease was renewed at that time. */
  livenessOf(owner: string, renewedAt: number): OwnerLiveness;
  /** Observes whether the process behind an owner lives, whose lease was renewed at that time, or later. */
  look(owner: string, renewedAt: number): Promise<OwnerLiveness>;
}

/** The model call of a turn, among the effects of the turn: its tool calls are numbered from 1. */
export const MODEL_CALL = 0;

/** True if an attempt of an owner may have been sent. */
export type SentBefore = (runId: string, epoch: number, effect: EffectAttempt) => boolean;

/** Where a store notes, outside of the database, what it is about to send. */
export interface SentNotes {
  /** Identifies the notes of this store, for a claim to record; null if none are written. */
  readonly identity: string | null;
  /** False if it cannot be noted: from then on a missing note proves nothing. */
  write(runId: string, epoch: number, effect: EffectAttempt): boolean;
  /** The attempt is settled. */
  retire(runId: string, effect: Omit<EffectAttempt, "attempt">): void;
  /** The attempt was not sent after all. */
  withdraw(runId: string, effect: EffectAttempt): void;
  /** The notes of a dead owner; null if they prove nothing. */
  notesOf(owner: string, identity: string): SentBefore | null;
}

/** A store that writes no notes: whatever a dead process left open may have been sent. */
export const NO_NOTES: SentNotes = {
  identity: null,
  write: () => true,
  retire: () => undefined,
  withdraw: () => undefined,
  notesOf: () => null,
};
