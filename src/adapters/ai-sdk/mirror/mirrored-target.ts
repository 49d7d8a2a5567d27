import { ConfigurationError } from "../../../core/errors.ts";
import type { Agent } from "../../../engine/definition/agent.ts";
import { conversationsOf } from "../../../engine/definition/conversation-step.ts";
import { type GranularStep, isAgentStep } from "../../../engine/definition/granular-step.ts";
import type { StepNode } from "../../../engine/definition/step.ts";
import { type Runner, runnerSetup } from "../../../engine/runner/runner.ts";
import type { Store } from "../../../store/store.ts";

/** What a mirror needs to know about the runner whose runs it shows. */
export type MirroredTarget = {
  readonly store: Store;
  readonly agent: Agent;
  /** The path of the agent's step, which has its turns. */
  readonly stepPath: string;
  readonly isConversation: boolean;
  /** A turn with tool calls may be the last one: a function of the user decides that. */
  readonly mayEndWithCalls: boolean;
};

/** Refuses a runner whose runs are not those of one agent, or that opens a store for each request. */
export function targetOf<O, I>(runner: Runner<O, I>): MirroredTarget {
  const { root, options } = runnerSetup(runner);
  const steps = agentStepsOf(root);
  const [step] = steps;
  const isOne = steps.length === 1 && hasOnlyOne(root);
  if (step === undefined || !isOne)
    throw new ConfigurationError(
      `asAgent was given a runner of the pipeline ${root.name}, which is not one agent: give it new Runner(agent, { store }), or new Runner(conversation(agent), { store }).`,
    );
  if (options.store === undefined)
    throw new ConfigurationError(
      "asAgent was given a runner without a store, which would open one for each request: give the runner one, new Runner(agent, { store: await openStore(…) }).",
    );
  return {
    store: options.store,
    agent: step.agent,
    stepPath: step.name,
    isConversation: conversationsOf(root).length > 0,
    mayEndWithCalls: typeof step.options.completion === "function",
  };
}

function agentStepsOf(step: StepNode): readonly GranularStep[] {
  return isAgentStep(step) ? [step] : (step.children ?? []).flatMap(agentStepsOf);
}

/** True if nothing runs beside the agent. */
function hasOnlyOne({ children = [] }: StepNode): boolean {
  const [child] = children;
  return children.length <= 1 && (child === undefined || hasOnlyOne(child));
}
