import type { JsonObject } from "../../core/json.ts";

/** A checkpoint as it is handed around outside of the store: `cursor` says where it was taken, and its number. */
export type SavedCheckpoint = { readonly snapshot: JsonObject; readonly cursor: JsonObject };

/**
 * Which checkpoint a granular step goes back to: the last one; one that was kept elsewhere, by its number; or none, to the
 * beginning. It is taken by the first step that it applies to.
 */
export class MilestoneRequest {
  #from: MilestoneFrom | null;
  #wasRequested: boolean;

  /** Null: steps go on where they were left. */
  constructor(from: MilestoneFrom | null) {
    this.#from = from;
    this.#wasRequested = from !== null;
  }

  /** Whether somebody has let agents be others than they were, for as long as this worker has the run. */
  get wasRequested(): boolean {
    return this.#wasRequested;
  }

  /** Where nobody has asked for anything else. */
  setDefault(from: MilestoneFrom): void {
    this.#from ??= from;
    this.#wasRequested = true;
  }

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
