import type { Store, ToolCallRecord } from "../../store/store.ts";

/**
 * Calls of a run that failed and may have happened all the same. Nearly no run has any, so the store is asked once, and
 * again only after there was one.
 */
export class Uncertainties {
  readonly #store: Store;
  readonly #runId: string;
  #areThere: boolean | null = null;

  constructor(store: Store, runId: string) {
    this.#store = store;
    this.#runId = runId;
  }

  /** One is about to be written. */
  note(): void {
    this.#areThere = true;
  }

  /** The newest of this identity, if nothing with that identity has succeeded since. */
  async find(identityHash: Buffer): Promise<ToolCallRecord | null> {
    this.#areThere ??= await this.#store.hasUncertainCalls(this.#runId);
    return this.#areThere ? this.#store.findUncertainCall(this.#runId, identityHash) : null;
  }
}
