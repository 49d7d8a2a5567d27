import type { Json, Jsonified, JsonObject } from "../../core/json.ts";
import type { Secret } from "../../core/secret/secret.ts";
import type { SessionView } from "../../session/session-view.ts";
import type { GranularState } from "../../store/store.ts";
import type { ArtifactAccess } from "./artifact-access.ts";
import type { EarlierSteps } from "./earlier-steps.ts";
import type { Tool } from "./tool.ts";
import type { ToolSource } from "./tool-source.ts";

/** What the code of `Step.run` works with. */
export interface CodeStepContext extends ArtifactAccess, EarlierSteps {
  readonly runId: string;
  readonly stepPath: string;
  /**
   * A copy of the run's context; what is changed here is merged when the step succeeds. `granularState` is the state of the
   * last agent before this step: to read, and in no copy of the context.
   */
  context: { [key: string]: Json } & { readonly granularState?: GranularState };
  readonly signal: AbortSignal;
  /** The run's session. What is dispatched here, or by a tool that is called here, takes effect when the step succeeds. */
  readonly session: SessionView;
  /**
   * Calls a tool through the ledger. If the step is interrupted and runs again, a call with a receipt is answered
   * from it, matched by what it asks for and not by its position. A `secret(…)` in the input is given to the tool and
   * stored nowhere.
   */
  call<A, O>(tool: Tool<A, O>, input: CallInput<A>): Promise<Jsonified<O>>;
  /** The tools of a source, such as `mcpTools({ name: "files", … })`, by their full names. It is open until the run ends. */
  tools(source: ToolSource): Promise<{ readonly [name: string]: Tool }>;
  /** What the granular step of that name came to. */
  granularState(stepName: string): Promise<GranularState | null>;
}

/** The arguments of a tool, with a secret in the place of any text; any JSON for a tool whose types are not known. */
export type CallInput<A> = [A] extends [never] ? JsonObject : WithSecrets<A>;

type WithSecrets<A> = A extends string
  ? A | Secret
  : A extends readonly (infer E)[]
    ? readonly WithSecrets<E>[]
    : A extends object
      ? { readonly [K in keyof A]: WithSecrets<A[K]> }
      : A;
