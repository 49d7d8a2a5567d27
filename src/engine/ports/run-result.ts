import type { JsonObject } from "../../core/json.ts";
import type { ExchangeRecord, GranularState, RunUsage, WaitRecord } from "../../store/store.ts";

/** The outcome of a run. A failure is thrown, not returned. Check `status` before you use `output`. */
export type RunResult<O> = FinishedRun & RunOutcome<O>;

/** `queued`: its worker released it, and any worker can claim it. */
export type RunOutcome<O> =
  /** `output` is as it is stored: JSON. */
  | { readonly status: "succeeded"; readonly output: O }
  | { readonly status: "waiting" | "cancelled" | "queued"; readonly output: null };

type FinishedRun = {
  readonly runId: string;
  /** The run's context, and the state of its last granular step. */
  readonly context: JsonObject & { readonly granularState?: GranularState };
  readonly usage: RunUsage;
  /** The questions to answer before the run can continue: `store.approve`, `deny`, `answer`, `settle`; then resume. */
  readonly waits: readonly WaitRecord[];
  /** For a run that waits in a conversation: its last exchange, and the text of the agent's last answer in it. */
  readonly conversation?: { readonly exchange: ExchangeRecord; readonly answer: string | null };
  /** True if this call resumed an existing run. */
  readonly resumed: boolean;
};
