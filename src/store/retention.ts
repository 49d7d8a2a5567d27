import type { Authenticated, Person } from "../core/person.ts";
import type { Amount } from "../core/usage/usage.ts";
import type { RunStatus } from "./run-move.ts";

// Runs that have ended, and what is left of those that were deleted.

/** Why a run is deleted, and by whom. */
export type RunDeletion = { readonly why: string; readonly by?: Person };

/** What is left of a deleted run. */
export type Tombstone = {
  readonly runId: string;
  readonly pipeline: string;
  readonly status: RunStatus;
  readonly createdAt: number;
  readonly endedAt: number;
  readonly deletedAt: number;
  readonly deletedBy: string;
  /** What vouches for who deleted it; null if nothing does. */
  readonly authenticated: Authenticated | null;
  readonly why: string;
  readonly charged: Amount;
  /** How many events it had, and the hash of the last one. */
  readonly events: number;
  readonly eventHash: string;
};

/** Which tombstones are listed: the newest, or those behind the given one. */
export type TombstoneRange = {
  readonly after?: { readonly deletedAt: number; readonly runId: string };
  /** 100 by default. */
  readonly limit?: number;
};

/** A status in which a run can be deleted. */
export type EndedStatus = "succeeded" | "failed" | "cancelled" | "moved";

/** A run that can be deleted. */
export type EndedRun = {
  readonly runId: string;
  readonly pipeline: string;
  readonly status: EndedStatus;
  readonly endedAt: number;
};

/** Which ended runs are listed, the one that ended first at first. Runs that were moved away are listed if asked for. */
export type EndedQuery = {
  /** In milliseconds since 1970. */
  readonly endedBefore: number;
  readonly status?: EndedStatus;
  readonly pipeline?: string;
  /** Those behind this one. */
  readonly after?: { readonly endedAt: number; readonly runId: string };
  readonly limit: number;
};

/** The intents and reads of a store about runs that are no longer needed. */
export interface RetentionStore {
  /**
   * Deletes a run that has ended, or was moved away, with everything that is stored of it, in one transaction, and
   * leaves a tombstone: its id is not used again. Forks of it keep their copies. Refused for a run that has not ended.
   * Deleting it again changes nothing. Resolves to the tombstone.
   */
  deleteRun(runId: string, deletion: RunDeletion): Promise<Tombstone>;
}
