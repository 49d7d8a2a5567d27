import type { Store, ToolCallRecord } from "../../store/store.ts";

/**
 * Calls of a run that failed and may have happened anyway. Few runs have any: the store is asked once whether there
 * are any, and only then for each call.
 */
export class UncertainCalls {
  readonly #store: Store;
  readonly #runId: string;
  #exist: boolean | null = null;

  constructor(store: Store, runId: string) {
    this.#store = store;
    this.#runId = runId;
  }

  /** Called before such a call is written: from then on the store is asked. */
  invalidate(): void {
    this.#exist = true;
  }

  /** The newest uncertain call of this identity; null if a call of the same identity has succeeded since. */
  async find(identityHash: Buffer): Promise<ToolCallRecord | null> {
    this.#exist ??= await this.#store.hasUncertainCalls(this.#runId);
    return this.#exist ? this.#store.findUncertainCall(this.#runId, identityHash) : null;
  }
}
