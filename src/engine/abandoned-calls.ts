import { isKept, type Lineage } from "../core/lineage.ts";
import type { Store, ToolCallRecord } from "../store/store.ts";
import type { CallIdentity } from "./tool-call-plan.ts";

/**
 * What the turns that a new line of history left behind have had of each effect. A call that asks for the same again meets
 * one of them, each once; what goes beyond them is a wanted repeat, and runs.
 */
export class AbandonedCalls {
  readonly #store: Store;
  readonly #lineages: readonly Lineage[];
  readonly #unmet = new Map<string, ToolCallRecord[]>();

  constructor(store: Store, lineages: readonly Lineage[]) {
    this.#store = store;
    this.#lineages = lineages;
  }

  /** The oldest call of this identity that had its effect in a turn left behind, and was not asked for again since. */
  async meet({ hash, keyOf }: CallIdentity): Promise<ToolCallRecord | null> {
    if (this.#lineages.length === 0) return null;
    const identity = hash.toString("hex");
    let unmet = this.#unmet.get(identity);
    if (unmet === undefined) {
      unmet = await this.#read(keyOf);
      this.#unmet.set(identity, unmet);
    }
    return unmet.shift() ?? null;
  }

  async #read(keyOf: CallIdentity["keyOf"]): Promise<ToolCallRecord[]> {
    const had: ToolCallRecord[] = [];
    const met = new Set<string>();
    for (let n = 1; ; n++) {
      const call = await this.#store.findToolCall(keyOf(n));
      if (call === null) return had.filter(({ toolCallId }) => !met.has(toolCallId));
      if (!isKept(this.#lineages, call.turnIndex)) {
        if (call.status === "succeeded") had.push(call);
      } else if (call.receipt !== null && call.receipt.duplicateOf !== null)
        met.add(call.receipt.duplicateOf);
    }
  }
}
