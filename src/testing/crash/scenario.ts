import type { LanguageModel } from "ai";
import { aiSdkModel } from "../../adapters/ai-sdk/ai-sdk.ts";
import type { Json } from "../../core/json.ts";
import type { Settlement } from "../../core/wait.ts";
import type { Agent } from "../../engine/definition/agent.ts";
import type { StepNode } from "../../engine/definition/step.ts";
import type { Reconciliation, ToolCallContext } from "../../engine/definition/tool.ts";
import type { ModelPort, ModelRequest, ModelResponse } from "../../engine/ports/model-port.ts";
import type { ModelCallPlace } from "../../engine/run/effects-port.ts";
import type { Runner } from "../../engine/runner/runner.ts";
import type { RunnerOptions, RunOptions } from "../../engine/runner/runner-options.ts";
import type { Store, WaitRecord } from "../../store/store.ts";
import type { Effect } from "./witness.ts";

/** The other side of a tool, as its stand-in sees it. */
export interface OtherSide {
  /**
   * Says that it has happened, here and now. Without it, a stand-in that returns has had its effect and one that throws
   * has not.
   */
  effect(result?: Json): void;
  /** What has happened under this key so far. */
  happened(key: string): Effect | null;
  /** Never answers, until whoever asked gives up. */
  hang(signal: AbortSignal): Promise<never>;
  /** How long its work takes, while everybody else may go on. */
  take(ms: number, signal?: AbortSignal): Promise<void>;
  /** The store, as another process has it: for a person who steps in meanwhile. */
  readonly store: Store;
}

export type ExecuteStandIn = (input: never, call: ToolCallContext, outside: OtherSide) => unknown;

export type ToolStandIn =
  | ExecuteStandIn
  | {
      readonly execute?: ExecuteStandIn;
      readonly reconcile?: (
        input: never,
        call: ToolCallContext,
        outside: OtherSide,
      ) => Reconciliation<unknown> | Promise<Reconciliation<unknown>>;
    };

/** Asked in place of a model, with where in the run it is asked. What it says must depend on that and the conversation alone. */
export type ModelStandIn = (
  request: ModelRequest,
  place: ModelCallPlace,
  outside: OtherSide,
) => ModelResponse | Promise<ModelResponse>;

/** What a person does about the questions of a run. */
export type PersonStandIn = {
  /** Approves unless said. */
  readonly approval?: (wait: WaitRecord) => "approve" | { readonly deny: string };
  /** What became of a call in doubt; looked up outside, unless said: what is there succeeded, what is not is tried again. */
  readonly inDoubt?: (wait: WaitRecord, seen: Effect | null) => Settlement;
  /** "Yes." unless said. */
  readonly question?: (wait: WaitRecord) => Json;
};

/** What a process has to work with. */
export type ProcessTools = {
  readonly runner: Runner;
  readonly store: Store;
  /** The same runner with other options, or for another pipeline. */
  readonly runnerOf: (target: Agent | StepNode, options?: RunnerOptions) => Runner;
  /** What its runners are made with, for a process that works in another way: a `DurableMainLoop` takes them too. */
  readonly options: RunnerOptions & { readonly store: Store };
  /** Answers what is open, as the scenario's person would. */
  readonly answer: (waits: readonly WaitRecord[]) => Promise<void>;
  /** Which process of this machine it is, from 1. */
  readonly life: number;
};

/** What is explored: an agent or a pipeline with everything outside of it replaced, and what a process does with it. */
export type Scenario = {
  readonly name?: string;
  readonly pipeline: Agent | StepNode;
  readonly input: Json;
  /** In place of every agent's model. */
  readonly model?: LanguageModel | ModelPort | ModelStandIn;
  /** In place of what the tools of these names do; a tool that is not named runs as it is. */
  readonly tools?: { readonly [name: string]: ToolStandIn };
  readonly person?: PersonStandIn;
  /** The run is meant to end in an error, or to be cancelled; else an exploration of one that does proves nothing. */
  readonly mayFail?: true;
  readonly runner?: Omit<RunnerOptions, "store" | "clock" | "random" | "outside" | "probe">;
  readonly run?: Omit<RunOptions, "runId" | "wait" | "signal" | "release">;
  /**
   * What each process does, the first and those after it alike, so it has to find out where it is: the run is run to its
   * end and questions are answered, unless said.
   */
  readonly act?: (tools: ProcessTools) => Promise<unknown>;
};

/** Every process works on the run of this id. */
export const RUN_ID = "explored-1";

export function modelStandIn(model: NonNullable<Scenario["model"]>): ModelStandIn {
  if (typeof model === "function") return model;
  const port = typeof model === "object" && "respond" in model ? model : aiSdkModel(model);
  return (request) => port.respond(request);
}

/** Runs the run to its end, and answers what it asks. */
export async function workUntilTheEnd(
  scenario: Scenario,
  { runner, answer }: ProcessTools,
): Promise<unknown> {
  let result = await runner.run(scenario.input, { ...scenario.run, runId: RUN_ID, wait: true });
  for (let rounds = 0; result.status === "waiting" && result.waits.length > 0; rounds++) {
    if (rounds === MOST_ROUNDS)
      throw new Error(`The run still has questions after ${rounds} rounds of answers.`);
    await answer(result.waits);
    result = await runner.resume(RUN_ID, { wait: true });
  }
  return result;
}

const MOST_ROUNDS = 50;
