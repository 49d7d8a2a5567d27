import { ConfigurationError } from "../../core/errors.ts";
import type { Json, JsonObject } from "../../core/json.ts";
import { assertStepName } from "../../core/step-path.ts";
import type { Completion } from "../../core/turn/completion.ts";
import { defaultResultTokens } from "../../core/usage/result-share.ts";
import type { Agent } from "./agent.ts";
import { askAt, askHuman, questionOf } from "./ask-human.ts";
import type { CodeStepContext } from "./code-step-context.ts";
import type { EarlierSteps } from "./earlier-steps.ts";
import { classify } from "./prepared-tool.ts";
import type { StopConditions } from "./stop-conditions.ts";
import type { Tool } from "./tool.ts";
import type { OpenSources } from "./tool-source.ts";

/**
 * A step, as data. The registry maps its `kind` to an executor, so a step kind of your own is an object like this and an
 * executor.
 */
export interface StepNode<O = unknown> {
  readonly kind: string;
  readonly name: string;
  /** Groups steps for people: `plan`, `crawl`, `render` … */
  readonly phase?: string;
  /** The steps inside this one. They are part of the pipeline's pinned shape. */
  readonly children?: readonly StepNode[];
  /** Finds problems before the first step of a run begins. Returns one sentence for each. */
  readonly problems?: (sources: OpenSources) => Promise<readonly string[]>;
  /** The tools that the step itself calls, by name, if they are known beforehand. By default it may call any tool. */
  readonly tools?: (sources: OpenSources) => Promise<{ readonly [name: string]: Tool }>;
  /** Type only: never has a value. */
  readonly outputType?: O;
}

/** Steps in order. */
export interface PipelineStep<O = unknown> extends StepNode<O> {
  readonly kind: "pipeline";
  readonly children: readonly StepNode[];
  /** True for a mere wrapper: its name is not part of the paths of its steps. */
  readonly inline: boolean;
  /** The stop conditions that a RunSpec may name. */
  readonly stopConditions?: StopConditions;
}

/** A body that is repeated on its own output. */
export interface LoopStep<O = unknown> extends StepNode<O> {
  readonly kind: "loop";
  readonly children: readonly [StepNode<O>];
  readonly until: (output: O, context: JsonObject) => boolean | Promise<boolean>;
  readonly maxIterations: number;
}

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

/** A step of ordinary code. */
export interface CodeStep<O = unknown> extends StepNode<O> {
  readonly kind: "run";
  readonly code: (input: never, context: CodeStepContext) => Promise<O> | O;
}

/** Options of `Step.granular`. */
export type GranularOptions = {
  /** The step's input instead of the previous output: a value, or a deterministic function of the earlier outputs. */
  readonly input?: Json | ((given: Json, earlier: EarlierSteps) => Json | Promise<Json>);
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
  /** Continues with a marker if a large result is lost and its tool is `repeat` or `keyed`; false by default. */
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

/** Makes the steps of a pipeline. */
export const Step = {
  /**
   * An agent that works turn by turn; each turn is committed once. It takes at most `maxTurns` turns, 20 by default.
   *
   * @example
   * const research = Step.granular("research", researcher, { maxTurns: 20 });
   */
  granular<O>(
    name: string,
    agent: Agent<O>,
    options: Partial<GranularOptions> & { readonly maxTurns?: number; readonly phase?: string } = {},
  ): PipelineStep<O> {
    const { maxTurns = agent.maxTurns ?? DEFAULT_MAX_TURNS, phase, ...rest } = options;
    assertPhase(name, phase);
    assertStepName("step", name);
    const given = { ...GRANULAR_DEFAULTS, ...rest };
    const maxResultTokens =
      rest.maxResultTokens ?? agent.maxResultTokens ?? defaultResultTokens(given.historyMaxTokens);
    const granular: GranularStep<O> = {
      kind: "granular",
      name,
      agent,
      options: { ...given, maxResultTokens },
    };
    assertPositive(`maxTurns of step ${name}`, maxTurns);
    assertPositive(`historyMaxTokens of step ${name}`, granular.options.historyMaxTokens);
    assertPositive(`maxResultTokens of step ${name}`, maxResultTokens);
    assertPositive(`blobThresholdBytes of step ${name}`, granular.options.blobThresholdBytes);
    if (granular.options.enforceIdempotency) assertKeysEnforced(name, agent.tools);
    const loop: TurnLoopStep<O> = { kind: "turn-loop", name, children: [granular], maxTurns };
    return {
      kind: "pipeline",
      name,
      children: [loop],
      inline: true,
      ...(phase === undefined ? {} : { phase }),
    };
  },

  /**
   * Ordinary code. An interrupted step runs again from its start; its calls through `ctx.call` have receipts and are not
   * made again. Any other effect is at-least-once.
   */
  run<I = never, O = Json>(
    name: string,
    code: (input: I, context: CodeStepContext) => Promise<O> | O,
    options: { readonly phase?: string } = {},
  ): CodeStep<O> {
    assertStepName("step", name);
    assertPhase(name, options.phase);
    return { kind: "run", name, code, ...options };
  },

  /**
   * A question to a person. The run waits, and the answer is the step's output.
   *
   * @example
   * Step.human("check", { question: (draft) => `Send this? ${draft}`, choices: ["yes", "no"] });
   */
  human<I = never>(
    name: string,
    {
      question,
      choices,
      ...options
    }: {
      readonly question: string | ((input: I) => string);
      readonly choices?: readonly string[];
      readonly phase?: string;
    },
  ): CodeStep<Json> {
    const step = Step.run<I, Json>(
      name,
      (input, context) =>
        context.call(askAt(name), {
          question: questionOf(question, input, name),
          ...(choices === undefined ? {} : { choices: [...choices] }),
        }),
      options,
    );
    return { ...step, tools: async () => ({ ask_human: askHuman }) };
  },

  /** Repeats the body, on its own output, until `until` returns true. Every iteration is a step instance of its own. */
  loop<O>(
    name: string,
    body: StepNode<O>,
    options: {
      readonly until: (output: O, context: JsonObject) => boolean | Promise<boolean>;
      readonly maxIterations: number;
      /** A failing iteration ends the loop. `"abort"` is the default and the only choice so far. */
      readonly onFailure?: "abort";
      readonly phase?: string;
    },
  ): LoopStep<O> {
    assertStepName("step", name);
    assertPositive(`maxIterations of step ${name}`, options.maxIterations);
    assertPhase(name, options.phase);
    return {
      ...(options.phase === undefined ? {} : { phase: options.phase }),
      kind: "loop",
      name,
      children: [body],
      until: options.until,
      maxIterations: options.maxIterations,
    };
  },
};

/** The output type of the last step; unknown if the types do not show which step is last. */
type OutputOfLast<S extends readonly StepNode[]> = S extends readonly [...StepNode[], StepNode<infer O>]
  ? O
  : unknown;

/** Composes steps. */
export const Pipeline = {
  /** Steps in order; each one's input is the output of the step before it. */
  of<S extends readonly StepNode[]>(name: string, ...steps: S): PipelineStep<OutputOfLast<S>> {
    assertStepName("pipeline", name);
    if (steps.length === 0) throw new ConfigurationError(`Pipeline ${name} has no steps: give at least one.`);
    const names = steps.map((step) => step.name);
    const twice = names.find((step, index) => names.indexOf(step) !== index);
    if (twice !== undefined) {
      throw new ConfigurationError(`Pipeline ${name} has two steps named ${twice}: rename one of them.`);
    }
    return { kind: "pipeline", name, children: steps, inline: false };
  },

  /**
   * The same pipeline with stop conditions that a RunSpec may name.
   *
   * @example
   * Pipeline.stoppingWhen(report, { email_sent_once: succeededOnce("send_email") });
   */
  stoppingWhen<O>(pipeline: PipelineStep<O>, conditions: StopConditions): PipelineStep<O> {
    for (const [name, condition] of Object.entries(conditions)) {
      if (typeof condition === "function") continue;
      throw new ConfigurationError(
        `The stop condition ${name} of pipeline ${pipeline.name} is not a function.`,
      );
    }
    return { ...pipeline, stopConditions: { ...pipeline.stopConditions, ...conditions } };
  },
};

function assertPhase(step: string, phase: unknown): void {
  if (phase === undefined || (typeof phase === "string" && phase.trim() === phase && phase !== "")) return;
  throw new ConfigurationError(`Step ${step} has phase ${JSON.stringify(phase)}: give a name, or none.`);
}

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

function assertPositive(what: string, value: number): void {
  if (Number.isSafeInteger(value) && value >= 1) return;
  throw new ConfigurationError(`${what} is ${value}: give a whole number of at least 1.`);
}
