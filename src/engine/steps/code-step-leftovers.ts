import type { ToolCallRecord } from "../../store/store.ts";
import type { PreparedTool } from "../definition/prepared-tool.ts";
import type { Clock } from "../ports/clock.ts";

/** How long a call that looks reworded waits for the code to repeat its earlier calls. */
const LEFTOVER_GRACE_MS = 2_000;

/**
 * The calls of an interrupted code step that the code has not made again yet. If it calls the same tool with other
 * arguments while an effect of that tool is left over, both calls may be meant as the same effect.
 */
export class CodeStepLeftovers {
  readonly #rows: Map<string, ToolCallRecord>;
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();

  constructor(rows: readonly ToolCallRecord[], clock: Clock) {
    this.#rows = new Map(rows.map((row) => [row.idempotencyKey, row]));
    this.#clock = clock;
  }

  /** The code has made this call again: it is no leftover any more. */
  claim(idempotencyKey: string): void {
    if (this.#rows.delete(idempotencyKey)) for (const listener of this.#listeners) listener();
  }

  /** Unclaimed calls in doubt that nothing else would settle. Calls that are safe to repeat are left out. */
  inDoubt(): ToolCallRecord[] {
    return [...this.#rows.values()].filter(
      ({ status, recovery }) => status === "in_doubt" && recovery !== "repeat",
    );
  }

  /**
   * An unclaimed effect of this tool; null if there is none. Parallel calls may come in another order than before, so it
   * first waits a moment for the code to claim it.
   */
  async unclaimedEffect(tool: PreparedTool): Promise<ToolCallRecord | null> {
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

/** True for a call that may have had an effect outside of the run. */
function mayHaveHappened({ effect, status, receipt }: ToolCallRecord): boolean {
  if (effect !== "external" && effect !== "memory") return false;
  return status === "succeeded" || status === "in_doubt" || receipt?.uncertain === true;
}
