import type { Json, JsonObject } from "../core/json.ts";
import type { StepPath } from "../core/step-path.ts";

/** The session as it is stored: every slice with all of its values. */
export type StoredSlice = {
  readonly name: string;
  readonly kind: "state" | "log";
  readonly version: number;
  readonly values: readonly Json[];
};

/**
 * `milestone`: the agent reported progress. `step_boundary`, `phase_boundary`: a step, or the last one of its
 * phase, has ended. `pre_side_effect`: an effect outside is about to happen; a record of where the run stood,
 * never a target of a rollback.
 */
export type CheckpointType = "milestone" | "step_boundary" | "phase_boundary" | "pre_side_effect";

/** A checkpoint, as it is stored, without its snapshot. */
export type CheckpointRecord = {
  /** From 1, in the order of the run. */
  readonly checkpoint: number;
  readonly type: CheckpointType;
  readonly stepPath: StepPath;
  /** The turn it was committed with; 0 at the end of a step. */
  readonly turnIndex: number;
  readonly cursor: JsonObject;
  /** A summary of the contract of its run; null if that has none. */
  readonly contract: JsonObject | null;
  /** Bytes of the snapshot as JSON. */
  readonly size: number;
  /** The session was rolled back to an earlier one since. */
  readonly isSuperseded: boolean;
  readonly at: number;
};

/** A checkpoint with its snapshot. */
export type CheckpointSnapshot = CheckpointRecord & { readonly snapshot: JsonObject };
