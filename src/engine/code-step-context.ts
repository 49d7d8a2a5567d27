import type { Json, JsonObject } from "../core/json.ts";
import type { GranularState } from "../store/store.ts";
import type { Tool } from "./tool.ts";

/** What the code of `Step.run` works with. */
export interface CodeStepContext {
  readonly runId: string;
  readonly stepPath: string;
  /** A copy of the run's context; what is changed here is merged when the step succeeds. */
  context: { [key: string]: Json };
  readonly signal: AbortSignal;
  /**
   * Calls a tool through the ledger. If the step is interrupted and runs again, a call with a receipt is answered
   * from it, matched by what it asks for and not by its position.
   */
  call(tool: Tool, input: JsonObject): Promise<Json>;
  /** What the granular step of that name came to. */
  granularState(stepName: string): Promise<GranularState | null>;
}
