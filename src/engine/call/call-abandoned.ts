import { isKept, type Lineage } from "../../core/lineage.ts";
import type { Store, ToolCallRecord } from "../../store/store.ts";
import type { CallIdentity } from "./call-identity.ts";

/**
 * Successful calls of the turns that a new lineage abandoned. A call of the new lineage for the same effect reuses one of
 * them, each at most once; any further call is an intended repeat, and runs. Both dedupe scopes are searched, since a new
 * version of the tool may declare another one.
 */
export class AbandonedCalls {
  readonly #runId: string;
  readonly #store: Store;
  readonly #lineages: readonly Lineage[];
  readonly #unclaimed = new Map<string, ToolCallRecord[]>();

  constructor(runId: string, store: Store, lineages: readonly Lineage[]) {
    this.#runId = runId;
    this.#store = store;
    this.#lineages = lineages;
  }

  /** True if no turn was abandoned. */
  get isEmpty(): boolean {
    return this.#lineages.length === 0;
  }

  /** The oldest successful call of this identity in an abandoned turn that no other call has reused; claims it. */
  async reuse(identity: CallIdentity): Promise<ToolCallRecord | null> {
    const id = identity.hash.toString("hex");
    let unclaimed = this.#unclaimed.get(id);
    if (unclaimed === undefined) {
      unclaimed = unclaimedOf(this.#lineages, await this.#read(identity));
      this.#unclaimed.set(id, unclaimed);
    }
    return unclaimed.shift() ?? null;
  }

  /** For an effect that is wanted once in a run: any successful call of this step, abandoned or not. */
  async findSucceeded(identity: CallIdentity): Promise<ToolCallRecord | null> {
    return (await this.#read(identity)).find(({ status }) => status === "succeeded") ?? null;
  }

  async #read({ keyIn }: CallIdentity): Promise<ToolCallRecord[]> {
    const calls: ToolCallRecord[] = [];
    for (const scope of ["call", "effect"] as const)
      for (let n = 1; ; n++) {
        const call = await this.#store.findToolCall(this.#runId, keyIn(scope, n));
        if (call === null) break;
        calls.push(call);
      }
    return calls;
  }
}

function unclaimedOf(lineages: readonly Lineage[], calls: readonly ToolCallRecord[]): ToolCallRecord[] {
  const [kept, abandoned] = [
    calls.filter(({ turnIndex }) => isKept(lineages, turnIndex)),
    calls.filter(({ turnIndex }) => !isKept(lineages, turnIndex)),
  ];
  const reused = new Set(kept.map(({ receipt }) => receipt?.duplicateOf));
  return abandoned.filter(({ status, toolCallId }) => status === "succeeded" && !reused.has(toolCallId));
}
