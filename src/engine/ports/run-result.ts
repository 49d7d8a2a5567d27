import type { JsonObject } from "../../core/json.ts";
import type { GranularState, RunUsage, WaitRecord } from "../../store/store.ts";

/** What a run came to. A failure is thrown, not returned. */
export type RunResult<O> = {
  readonly runId: string;
  /** `queued`: it was let go of, and waits for nobody but a worker. */
  readonly status: "succeeded" | "waiting" | "cancelled" | "queued";
  /** Null unless the run succeeded. */
  readonly output: O;
  /** The run's context, and the state of its last granular step. */
  readonly context: JsonObject & { readonly granularState?: GranularState };
  readonly usage: RunUsage;
  /** What a person has to decide before the run goes on: `store.approve`, `deny`, `answer`, `settle`; then resume. */
  readonly waits: readonly WaitRecord[];
  /** Whether this call went on with a run that was there already. */
  readonly resumed: boolean;
};
