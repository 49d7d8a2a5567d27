import type { JsonObject } from "../../core/json.ts";

/** A checkpoint outside of the store. `cursor` holds its number and the position at which it was taken. */
export type SavedCheckpoint = { readonly snapshot: JsonObject; readonly cursor: JsonObject };

/**
 * A request to continue a granular step from a checkpoint: the last one, a given one, or the beginning of the step. The
 * first step that it applies to takes it.
 */
export class MilestoneRequest {
  #from: MilestoneFrom | null;
  #wasRequested: boolean;

  /** Null: steps continue from their last turn. */
  constructor(from: MilestoneFrom | null) {
    this.#from = from;
    this.#wasRequested = from !== null;
  }

  /** True if a milestone was requested, even if it was taken since: then changed agents are accepted in this attempt. */
  get wasRequested(): boolean {
    return this.#wasRequested;
  }

  /** Requests this milestone unless another one is requested already. */
  setDefault(from: MilestoneFrom): void {
    this.#from ??= from;
    this.#wasRequested = true;
  }

  /** True until a step has taken the request. */
  get isOpen(): boolean {
    return this.#from !== null;
  }

  take(): MilestoneFrom | null {
    const from = this.#from;
    this.#from = null;
    return from;
  }
}

export type MilestoneFrom =
  | { readonly kind: "last" }
  | { readonly kind: "given"; readonly snapshot: JsonObject; readonly checkpoint: number }
  | { readonly kind: "beginning" };
