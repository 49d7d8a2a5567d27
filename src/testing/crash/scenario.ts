import type { LanguageModel } from "ai";
import { aiSdkModel } from "../../adapters/ai-sdk/ai-sdk.ts";
import type { Json } from "../../core/json.ts";
import type { LiveListener } from "../../core/turn/live-part.ts";
import type { Settlement } from "../../core/wait.ts";
import type { Agent } from "../../engine/definition/agent.ts";
import type { StepNode } from "../../engine/definition/step.ts";
import type { Reconciliation, ToolCallContext } from "../../engine/definition/tool.ts";
import type { Clock } from "../../engine/ports/clock.ts";
import type { ModelPort, ModelRequest, ModelResponse } from "../../engine/ports/model-port.ts";
import type { ModelAttemptId } from "../../engine/run/effects-port.ts";
import type { Runner } from "../../engine/runner/runner.ts";
import type { RunnerOptions, RunOptions } from "../../engine/runner/runner-options.ts";
import type { Store, WaitRecord } from "../../store/store.ts";
import type { Effect, PostedMessage } from "./witness.ts";

/** The simulated outside system, as a stand-in sees it. */
export interface StandInContext {
  /** Records the effect now. Without it, a stand-in that returns has had its effect, and one that throws has not. */
  effect(result?: Json): void;
  /** The first effect under this key; null if there is none. */
  happened(key: string): Effect | null;
  /** Never answers: rejects when the caller gives up. */
  hang(signal: AbortSignal): Promise<never>;
  /** Takes this much simulated time, while other processes may continue. */
  take(ms: number, signal?: AbortSignal): Promise<void>;
  /** The store over another connection, for a person who acts meanwhile. */
  readonly store: Store;
}

/** The same for a stand-in of a model, which may write its answer piece by piece. */
export interface ModelStandInContext extends StandInContext {
  /**
   * Does this between two points, `model.piece`: a process may die or stop in the middle of an answer. The points are there
   * whether or not anybody watches.
   */
  piece(show: () => void): Promise<void>;
  /** The answer is whole. An answer in pieces without this is one that broke off, and must not be stored. */
  finish(text: string): void;
}

/** Called in place of a tool's `execute`. */
export type ExecuteStandIn = (input: never, call: ToolCallContext, outside: StandInContext) => unknown;

/** A replacement for a tool: its `execute`, or that and its `reconcile`. */
export type ToolStandIn =
  | ExecuteStandIn
  | {
      readonly execute?: ExecuteStandIn;
      readonly reconcile?: (
        input: never,
        call: ToolCallContext,
        outside: StandInContext,
      ) => Reconciliation<unknown> | Promise<Reconciliation<unknown>>;
    };

/**
 * Called in place of a model, with the place in the run. Its answer must depend on that and the conversation alone. `live`
 * takes the pieces of the answer, and is given if somebody watches.
 */
export type ModelStandIn = (
  request: ModelRequest,
  place: ModelAttemptId,
  outside: ModelStandInContext,
  live?: LiveListener,
) => ModelResponse | Promise<ModelResponse>;

/** The answers of a person to the waits of a run. */
export type PersonStandIn = {
  /** Answers waits of the kinds `approval` and `possible_duplicate`. Approves by default. */
  readonly approval?: (wait: WaitRecord) => "approve" | { readonly deny: string };
  /** Settles a call in doubt. By default by what happened outside: an effect settles it as succeeded, none as retry. */
  readonly inDoubt?: (wait: WaitRecord, seen: Effect | null) => Settlement;
  /** "Yes." by default. */
  readonly question?: (wait: WaitRecord) => Json;
};

/** The objects that a scenario's `act` works with in one process. */
export type ProcessTools = {
  readonly runner: Runner;
  readonly store: Store;
  /** The same runner with other options, or for another pipeline. */
  readonly runnerOf: (target: Agent | StepNode, options?: RunnerOptions) => Runner;
  /** The options of its runners, for an `act` that works in another way: a `DurableMainLoop` takes them too. */
  readonly options: RunnerOptions & { readonly store: Store; readonly clock: Clock };
  /** Answers the open waits as the scenario's person would. */
  readonly answer: (waits: readonly WaitRecord[]) => Promise<void>;
  /**
   * Sends a message to a receiver outside, between two points, `webhook`, and returns the status that it is answered with.
   * `statusOf` decides that by how often the message has arrived before.
   */
  readonly post: (message: PostedMessage, statusOf: (arrivedBefore: number) => number) => Promise<number>;
  /** The number of the process, from 1. */
  readonly life: number;
};

/** An agent or a pipeline with stand-ins for everything outside of it, and the work that a process does with it. */
export type Scenario = {
  readonly name?: string;
  readonly pipeline: Agent | StepNode;
  readonly input: Json;
  /** Replaces every agent's model. */
  readonly model?: LanguageModel | ModelPort | ModelStandIn;
  /** Stand-ins by tool name; a tool without one runs for real. */
  readonly tools?: { readonly [name: string]: ToolStandIn };
  readonly person?: PersonStandIn;
  /**
   * How many viewers watch the run, each in a process of its own; by default none. The first one sees everything. The others
   * join late, look rarely, stop, die and come back, as the schedule decides.
   */
  readonly viewers?: number;
  /** The run is meant to fail or to be cancelled. Without it, such a run counts as not tested. */
  readonly mayFail?: true;
  readonly runner?: Omit<RunnerOptions, "store" | "clock" | "random" | "outside" | "probe">;
  readonly run?: Omit<RunOptions, "runId" | "wait" | "signal" | "release">;
  /**
   * The work of each process, the first and the later ones alike, so it must find out how far the run is. By default it
   * runs the run to its end and answers its questions.
   */
  readonly act?: (tools: ProcessTools) => Promise<unknown>;
};

/** The run that every process works on. */
export const RUN_ID = "explored-1";

export function modelStandIn(model: NonNullable<Scenario["model"]>): ModelStandIn {
  if (typeof model === "function") return model;
  const port = typeof model === "object" && "respond" in model ? model : aiSdkModel(model);
  return (request, _place, _outside, live) => port.respond(request, live);
}

/** Runs the run to its end, sleeps until its waits are due, and answers those that people answer. */
export async function workUntilDone(scenario: Scenario, tools: ProcessTools): Promise<unknown> {
  const { runner, answer } = tools;
  let result = await runner.run(scenario.input, { ...scenario.run, runId: RUN_ID, wait: true });
  for (let rounds = 0; result.status === "waiting" && result.waits.length > 0; rounds++) {
    if (rounds === MAX_ROUNDS)
      throw new Error(`The run still has questions after ${rounds} rounds of answers.`);
    if (!(await sleepUntilDue(tools, result.waits))) await answer(result.waits);
    result = await runner.resume(RUN_ID, { wait: true });
  }
  return result;
}

/** Sleeps until the first of these waits is due, and has the store do what the clock has to do. False if none ever is. */
export async function sleepUntilDue(
  { store, options }: Pick<ProcessTools, "store" | "options">,
  waits: readonly WaitRecord[],
): Promise<boolean> {
  // From the waits, not from the run's own time: that one is under test.
  const times = waits.flatMap(({ dueAt, remindAt }) => [dueAt ?? [], remindAt ?? []].flat());
  if (times.length === 0) return false;
  const { clock } = options;
  await clock.sleep(Math.max(0, Math.min(...times) - clock.now()));
  await store.wakeRun(RUN_ID);
  return true;
}

const MAX_ROUNDS = 50;
