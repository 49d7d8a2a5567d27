import type { ToolCallRecord } from "../../store/store.ts";
import type { PreparedTool } from "../definition/prepared-tool.ts";
import type { Clock } from "../ports/clock.ts";

/** How long a call that looks re-worded waits for the code to ask for what it asked for before. */
export const LEFTOVER_GRACE_MS = 2_000;

/**
 * What an interrupted code step did, as far as the code has not asked for it again. If it asks for the same tool with
 * other arguments while an effect of that tool is left over, it may mean the same effect in other words.
 */
export class CodeStepLeftovers {
  readonly #rows: Map<string, ToolCallRecord>;
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();

  constructor(rows: readonly ToolCallRecord[], clock: Clock) {
    this.#rows = new Map(rows.map((row) => [row.idempotencyKey, row]));
    this.#clock = clock;
  }

  /** The code has asked for it again. */
  meet(idempotencyKey: string): void {
    if (this.#rows.delete(idempotencyKey)) for (const listener of this.#listeners) listener();
  }

  /** Calls in doubt that the code did not ask for: nobody would look at them any more. A read harms nobody. */
  inDoubt(): ToolCallRecord[] {
    return [...this.#rows.values()].filter(
      ({ status, recovery }) => status === "in_doubt" && recovery !== "repeat",
    );
  }

  /**
   * An effect of this tool that the code has not asked for again. What runs side by side may come in another order than
   * before, so there is a moment for the rest to be asked for; null once nothing is left over.
   */
  async of(tool: PreparedTool): Promise<ToolCallRecord | null> {
    if (this.#find(tool) === null) return null;
    await new Promise<void>((resolve) => {
      const done = () => {
        cancel();
        this.#listeners.delete(look);
        resolve();
      };
      const cancel = this.#clock.after(LEFTOVER_GRACE_MS, done);
      const look = () => {
        if (this.#find(tool) === null) done();
      };
      this.#listeners.add(look);
    });
    return this.#find(tool);
  }

  #find({ namespace, name }: PreparedTool): ToolCallRecord | null {
    for (const row of this.#rows.values()) {
      const isSame = row.namespace === namespace && row.tool === name;
      if (isSame && mayHaveHappened(row)) return row;
    }
    return null;
  }
}

/** EffectsPort, where it cannot be taken back. */
function mayHaveHappened({ effect, status, receipt }: ToolCallRecord): boolean {
  if (effect !== "external" && effect !== "memory") return false;
  return status === "succeeded" || status === "in_doubt" || receipt?.uncertain === true;
}
