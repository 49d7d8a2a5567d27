import { isKept, type Lineage } from "../../core/lineage.ts";
import type { Store, ToolCallRecord } from "../../store/store.ts";
import type { CallIdentity } from "./call-identity.ts";

/**
 * What the turns that a new line of history left behind have had of each effect. A call that asks for the same again meets
 * one of them, each once; what goes beyond them is a wanted repeat, and runs. They are looked for in both scopes: the new
 * version of a tool may say otherwise how often its effect is wanted.
 */
export class AbandonedCalls {
  readonly #store: Store;
  readonly #lineages: readonly Lineage[];
  readonly #unmet = new Map<string, ToolCallRecord[]>();

  constructor(store: Store, lineages: readonly Lineage[]) {
    this.#store = store;
    this.#lineages = lineages;
  }

  /** Whether no turn was left behind. */
  get isNone(): boolean {
    return this.#lineages.length === 0;
  }

  /** The oldest call of this identity that had its effect in a turn left behind, and was not asked for again since. */
  async meet(identity: CallIdentity): Promise<ToolCallRecord | null> {
    const id = identity.hash.toString("hex");
    let unmet = this.#unmet.get(id);
    if (unmet === undefined) {
      unmet = unmetOf(this.#lineages, await this.#read(identity));
      this.#unmet.set(id, unmet);
    }
    return unmet.shift() ?? null;
  }

  /** For an effect that is wanted once: any call of this step that had it, left behind or not. */
  async had(identity: CallIdentity): Promise<ToolCallRecord | null> {
    return (await this.#read(identity)).find(({ status }) => status === "succeeded") ?? null;
  }

  async #read({ keyIn }: CallIdentity): Promise<ToolCallRecord[]> {
    const calls: ToolCallRecord[] = [];
    for (const scope of ["call", "effect"] as const)
      for (let n = 1; ; n++) {
        const call = await this.#store.findToolCall(keyIn(scope, n));
        if (call === null) break;
        calls.push(call);
      }
    return calls;
  }
}

function unmetOf(lineages: readonly Lineage[], calls: readonly ToolCallRecord[]): ToolCallRecord[] {
  const [kept, leftBehind] = [
    calls.filter(({ turnIndex }) => isKept(lineages, turnIndex)),
    calls.filter(({ turnIndex }) => !isKept(lineages, turnIndex)),
  ];
  const met = new Set(kept.map(({ receipt }) => receipt?.duplicateOf));
  return leftBehind.filter(({ status, toolCallId }) => status === "succeeded" && !met.has(toolCallId));
}
