import type {
  AgentCallParameters,
  AgentStreamParameters,
  Agent as AiSdkAgent,
  Tool as AiSdkTool,
  DeepPartial,
  GenerateTextResult,
  Output,
  OutputInterface,
  StreamTextResult,
  ToolSet,
} from "ai";
import type { Tool } from "../../../engine/definition/tool.ts";
import type { ToolSource } from "../../../engine/definition/tool-source.ts";
import type { GivenTools } from "../agent.ts";
import type { AgentCall } from "./agent-call.ts";

/** Options of `asAgent`. */
export type AsAgentOptions<T = GivenTools> = {
  /** The tools that the agent was made with, for their types alone: of calls, results and UI messages. */
  readonly tools?: T;
  /** False: leaves the work to workers. By default this process works on the run, unless another one does. */
  readonly drive?: boolean;
  /**
   * `"journaled"`, the default: `stream` shows each answer once it is stored. `"live"`: texts and reasoning while the model
   * writes them; if such an answer fails or is interrupted, the stream ends with an error, since the SDK cannot take it back.
   */
  readonly parts?: "journaled" | "live";
  /** What `abortSignal` does: `"leave"`, the default, only stops watching; `"stop"` ends the exchange, or cancels the run. */
  readonly onAbort?: "leave" | "stop";
};

/** A tool as the SDK's types have it: its arguments, and its result as it is stored. */
type MirroredTool<T> =
  T extends Tool<infer A, infer R> ? AiSdkTool<A, Awaited<R>> : T extends AiSdkTool ? T : AiSdkTool;

/** The tools of an agent in the SDK's types. Those of MCP servers are dynamic, and in no type. */
export type MirroredToolSet<T extends GivenTools> = Extract<
  { -readonly [N in keyof T as T[N] extends ToolSource ? never : N]: MirroredTool<T[N]> },
  ToolSet
>;

/** The output of an agent in the SDK's types. */
export type MirroredOutput<O> = [O] extends [string]
  ? Output.Output<O, string, never>
  : Output.Output<O, DeepPartial<O>, never>;

export type Context = Record<string, unknown>;

/** In the SDK's types an agent has call options that every call must give, or none. */
type WithCall<P> = P extends unknown ? Omit<P, "options"> & { readonly options?: AgentCall } : never;

/** The SDK's `Agent` over a run. A call may give `options`; of a conversation it must, which is checked when it is made. */
export interface MirroredAgent<T extends ToolSet, O extends OutputInterface>
  extends AiSdkAgent<AgentCall, T, Context, O> {
  /** The answer, once it is stored. */
  generate(
    parameters: WithCall<AgentCallParameters<AgentCall, T, Context>>,
  ): PromiseLike<GenerateTextResult<T, Context, O>>;
  /** What the run stores, step by step. */
  stream(
    parameters: WithCall<AgentStreamParameters<AgentCall, T, Context>>,
  ): PromiseLike<StreamTextResult<T, Context, O>>;
}
