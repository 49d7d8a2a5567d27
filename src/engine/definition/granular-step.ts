import { ConfigurationError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import { assertOptions, givenOptions, kindOf, type OptionNames } from "../../core/naming/option-names.ts";
import { assertStepName } from "../../core/step-path.ts";
import type { Completion } from "../../core/turn/completion.ts";
import { defaultResultTokens } from "../../core/usage/result-share.ts";
import { type Agent, isAgent } from "./agent.ts";
import type { EarlierSteps } from "./earlier-steps.ts";
import { classify } from "./prepared-tool.ts";
import type { PipelineStep, StepNode } from "./step-node.ts";

/** The loop over an agent's turns: each iteration is one turn of the same conversation. */
export interface TurnLoopStep<O = unknown> extends StepNode<O> {
  readonly kind: "turn-loop";
  readonly children: readonly [GranularStep<O>];
  readonly maxTurns: number;
}

/** One turn of an agent. */
export interface GranularStep<O = unknown> extends StepNode<O> {
  readonly kind: "granular";
  readonly agent: Agent<O>;
  readonly options: GranularOptions;
}

export function isAgentStep(step: StepNode): step is GranularStep {
  return step.kind === "granular" && "agent" in step;
}

/** The models of all agents in a step. */
export function modelsOf(step: StepNode): readonly Agent["model"][] {
  const own = isAgentStep(step) ? [step.agent.model] : [];
  return [...own, ...(step.children ?? []).flatMap(modelsOf)];
}

/** Loads what the models of a step need. A package that is missing is found before a run is started. */
export async function loadModels(step: StepNode): Promise<void> {
  for (const model of modelsOf(step)) await model.load?.();
}

/** Options of `Step.granular`. `I` is the output of the step before it. */
export type GranularOptions<I = never> = {
  /** The step's input instead of the previous output: a value, or a deterministic function of the earlier outputs. */
  readonly input?: Json | ((given: I, earlier: EarlierSteps) => Json | Promise<Json>);
  /** The most tokens of history that the model sees; 128,000 by default. */
  readonly historyMaxTokens: number;
  /**
   * The most tokens of one tool result that the model sees; by default a third of `historyMaxTokens`. The whole result is
   * stored. Not part of the fingerprint: a run with a result that is too large can be resumed with another value.
   */
  readonly maxResultTokens: number;
  /** A larger tool result is stored as a blob; 20,000 by default. */
  readonly blobThresholdBytes: number;
  /** Requires an idempotency key of every tool that is not safe to repeat; false by default. */
  readonly enforceIdempotency: boolean;
  /** Decides when the agent is done; `"auto"` by default. */
  readonly completion: Completion;
  /**
   * Continues with a marker if a large result is lost and its tool is `repeat` or `keyed`, and with the name of a file if a
   * file of a message is lost; false by default.
   */
  readonly degradedReplay: boolean;
};

const GRANULAR_DEFAULTS: Omit<GranularOptions, "maxResultTokens"> = {
  historyMaxTokens: 128_000,
  blobThresholdBytes: 20_000,
  enforceIdempotency: false,
  completion: "auto",
  degradedReplay: false,
};

const DEFAULT_MAX_TURNS = 20;

/** `Step.granular`. */
export function granularStep<O, I = Json>(
  name: string,
  agent: Agent<O>,
  options: Partial<GranularOptions<I>> & AgentStepOptions = {},
): PipelineStep<O, I> {
  const which = `Step.granular(${JSON.stringify(name)}, …)`;
  assertOptions(which, options, GRANULAR_NAMES, { maxSteps: "maxTurns" });
  const { maxTurns, phase, granular } = turnsOf(which, name, agent, givenOptions(options, GRANULAR_NAMES));
  const loop: TurnLoopStep<O> = { kind: "turn-loop", name, children: [granular], maxTurns };
  return {
    kind: "pipeline",
    name,
    children: [loop],
    inline: true,
    ...(phase === undefined ? {} : { phase }),
  };
}

type AgentStepOptions = {
  /** The most turns that it may take. By default the agent's, or 20. */
  readonly maxTurns?: number;
  /** A name, for people, for steps that belong together. */
  readonly phase?: string;
};

/** The turns of an agent in a step, with the options that every such step has. */
export function turnsOf<O, I>(
  which: string,
  name: string,
  agent: Agent<O>,
  given: Partial<GranularOptions<I>> & AgentStepOptions,
): { readonly maxTurns: number; readonly phase: string | undefined; readonly granular: GranularStep<O> } {
  assertStepName("step", name);
  if (!isAgent(agent))
    throw new ConfigurationError(
      `${which} has ${kindOf(agent)} where its agent belongs: make one with agent({ … }).`,
    );
  const { maxTurns = agent.maxTurns ?? DEFAULT_MAX_TURNS, phase, ...rest } = given;
  assertPhase(name, phase);
  const all = { ...GRANULAR_DEFAULTS, ...rest };
  const maxResultTokens =
    rest.maxResultTokens ?? agent.maxResultTokens ?? defaultResultTokens(all.historyMaxTokens);
  const options = { ...all, maxResultTokens };
  assertPositive(`maxTurns of step ${name}`, maxTurns);
  assertPositive(`historyMaxTokens of step ${name}`, options.historyMaxTokens);
  assertPositive(`maxResultTokens of step ${name}`, maxResultTokens);
  assertPositive(`blobThresholdBytes of step ${name}`, options.blobThresholdBytes);
  if (options.enforceIdempotency) assertKeysEnforced(name, agent.tools);
  return { maxTurns, phase, granular: { kind: "granular", name, agent, options } };
}

export const GRANULAR_NAMES = {
  input: true,
  historyMaxTokens: true,
  maxResultTokens: true,
  blobThresholdBytes: true,
  enforceIdempotency: true,
  completion: true,
  degradedReplay: true,
  maxTurns: true,
  phase: true,
} satisfies OptionNames<Partial<GranularOptions> & AgentStepOptions>;

/** With `enforceIdempotency`, every tool that is not safe to repeat must take an idempotency key. */
export function assertKeysEnforced(step: string, tools: Agent["tools"]): void {
  for (const [key, tool] of Object.entries(tools)) {
    const name = tool.name ?? key;
    const { effect, recovery } = classify(name, tool, {});
    if (effect === "read_only" || recovery === "repeat" || tool.requiresIdempotencyKey) continue;
    throw new ConfigurationError(
      `Step ${step} enforces idempotency and tool ${name} takes no key: set requiresIdempotencyKey on it, or declare effect "read_only" or recovery "repeat".`,
    );
  }
}

export function assertPhase(step: string, phase: unknown): void {
  if (phase === undefined || (typeof phase === "string" && phase.trim() === phase && phase !== "")) return;
  throw new ConfigurationError(`Step ${step} has phase ${JSON.stringify(phase)}: give a name, or none.`);
}

export function assertPositive(what: string, value: number): void {
  if (Number.isSafeInteger(value) && value >= 1) return;
  throw new ConfigurationError(`${what} is ${value}: give a whole number of at least 1.`);
}
