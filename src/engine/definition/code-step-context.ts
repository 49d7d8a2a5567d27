import type { Json, Jsonified, JsonObject } from "../../core/json.ts";
import type { Secret } from "../../core/secret/secret.ts";
import type { SessionView } from "../../session/session-view.ts";
import type { GranularState } from "../../store/store.ts";
import type { ArtifactAccess } from "./artifact-access.ts";
import type { EarlierSteps } from "./earlier-steps.ts";
import type { ForeignCall, ForeignTool } from "./foreign-tool.ts";
import type { WiredStep } from "./step-node.ts";
import type { Tool } from "./tool.ts";
import type { ToolSource } from "./tool-source.ts";
import type { ReceivedMessage, ReceiveOptions, TimedOut } from "./waiting/received-message.ts";

/** The second argument of the code of `Step.run`. */
export interface CodeStepContext extends ArtifactAccess, EarlierSteps {
  readonly runId: string;
  readonly stepPath: string;
  /**
   * A copy of the run's context. Changes are merged into the run when the step succeeds. `granularState` is the state of
   * the last agent before this step; it is read-only, and copies of the context do not include it.
   */
  context: { [key: string]: Json } & { readonly granularState?: GranularState };
  readonly signal: AbortSignal;
  /** The run's session. Events dispatched here, or by a tool called here, take effect when the step succeeds. */
  readonly session: SessionView;
  /**
   * Calls a tool through the ledger. If the step is interrupted and runs again, a call with a receipt returns the stored
   * result; calls are matched by their arguments, not by position. A `secret(…)` in the input is passed to the tool and
   * never stored.
   */
  call<A, O>(tool: Tool<A, O>, input: CallInput<NoInfer<A>>): Promise<Jsonified<O>>;
  /**
   * Calls a tool of the AI SDK in the same way. Such a tool has no name, so the call gives it one: keep it, since receipts
   * are found by it. Its effect is derived from the name; unless that is clearly a read, a call in doubt asks a person.
   *
   * @example
   * const { celsius } = await ctx.call(weather, { city: "Rome" }, { name: "get_weather" });
   */
  call<A, O>(
    tool: ForeignTool<A, O>,
    input: CallInput<NoInfer<A>>,
    options: ForeignCall,
  ): Promise<Jsonified<O>>;
  /**
   * Waits for so many milliseconds. The run is released meanwhile, and the step then runs again from its start. The n-th
   * sleep of a step is the same sleep after a restart, so it is not slept again; its time is computed once.
   */
  sleep(ms: number): Promise<void>;
  /**
   * Waits for a message to the run. A message that came before is there. If none comes within `timeoutMs`, it throws a
   * `ToolFailedError`; with `onTimeout: "go_on"` it returns `{ timedOut: true }`. The n-th wait of a step for an event is
   * the same wait after a restart.
   *
   * @example
   * const { data } = await ctx.receive({ event: "payment.confirmed", schema: z.object({ amount: z.number() }) });
   */
  receive<T = Json>(
    options: ReceiveOptions<T> & { readonly onTimeout?: "fail" },
  ): Promise<ReceivedMessage<T>>;
  /** The same, also if no message comes in time. */
  receive<T = Json>(options: ReceiveOptions<T>): Promise<ReceivedMessage<T> | TimedOut>;
  /** Opens a source such as `mcpTools({ name: "files", … })` until the run ends. Returns its tools by their full names. */
  tools(source: ToolSource): Promise<{ readonly [name: string]: Tool }>;
  /** The state of the granular step of that name; null if it has none yet. */
  granularState(stepName: string): Promise<GranularState | null>;
}

/** The arguments of a tool, where any text may be a secret; any JSON object if the tool's types are unknown. */
type CallInput<A> = [A] extends [never] ? JsonObject : WithSecrets<A>;

type WithSecrets<A> = A extends string
  ? A | Secret
  : A extends readonly (infer E)[]
    ? readonly WithSecrets<E>[]
    : A extends object
      ? { readonly [K in keyof A]: WithSecrets<A[K]> }
      : A;

/** A step of ordinary code. */
export interface CodeStep<O = unknown, I = never> extends WiredStep<O, I> {
  readonly kind: "run";
  readonly code: (input: never, context: CodeStepContext) => unknown;
}
