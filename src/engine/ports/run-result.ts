import type { JsonObject } from "../../core/json.ts";
import type { GranularState, RunUsage, WaitRecord } from "../../store/store.ts";

/** The outcome of a run. A failure is thrown, not returned. */
export type RunResult<O> = {
  readonly runId: string;
  /** `queued`: its worker released it, and any worker can claim it. */
  readonly status: "succeeded" | "waiting" | "cancelled" | "queued";
  /** Null unless the run succeeded. */
  readonly output: O;
  /** The run's context, and the state of its last granular step. */
  readonly context: JsonObject & { readonly granularState?: GranularState };
  readonly usage: RunUsage;
  /** The questions to answer before the run can continue: `store.approve`, `deny`, `answer`, `settle`; then resume. */
  readonly waits: readonly WaitRecord[];
  /** True if this call resumed an existing run. */
  readonly resumed: boolean;
};
