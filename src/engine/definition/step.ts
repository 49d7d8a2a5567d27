import { ConfigurationError } from "../../core/errors.ts";
import type { Json, Jsonified, JsonObject, Storable } from "../../core/json.ts";
import { assertOptions, givenOptions, kindOf, type OptionNames } from "../../core/naming/option-names.ts";
import { assertStepName } from "../../core/step-path.ts";
import type { WaitClock } from "../../core/wait.ts";
import { type Agent, isAgent } from "./agent.ts";
import type { CodeStep, CodeStepContext } from "./code-step-context.ts";
import { conversationStep } from "./conversation-step.ts";
import { assertPhase, assertPositive, type GranularOptions, granularStep } from "./granular-step.ts";
import type { After, PipelineOf } from "./pipeline-of.ts";
import type { PipelineStep, StepNode, WiredStep } from "./step-node.ts";
import type { StopConditions } from "./stop-conditions.ts";
import { receiveStep, sleepStep } from "./wait-steps.ts";
import { askAt, askHuman, assertQuestion, questionOf } from "./waiting/ask-human.ts";
import { type TimeLimit, timeLimitOf } from "./waiting/time-limits.ts";

export type { CodeStep } from "./code-step-context.ts";
export * from "./granular-step.ts";
export type { PipelineStep, StepNode, WiredStep } from "./step-node.ts";

/** A body that is repeated on its own output. */
export interface LoopStep<O = unknown, I = never> extends WiredStep<O, I> {
  readonly kind: "loop";
  readonly children: readonly [StepNode<O>];
  readonly until: (output: O, context: JsonObject) => boolean | Promise<boolean>;
  readonly maxIterations: number;
}

/** Makes the steps of a pipeline. */
export const Step = {
  /**
   * An agent that works turn by turn; each turn is committed once. It takes at most `maxTurns` turns, 20 by default.
   *
   * @example
   * const research = Step.granular("research", researcher, { maxTurns: 20 });
   */
  granular<O, I = Json>(
    name: string,
    agent: Agent<O>,
    options: Partial<GranularOptions<I>> & {
      /** The most turns that it may take. By default the agent's, or 20. */
      readonly maxTurns?: number;
      /** A name, for people, for steps that belong together. */
      readonly phase?: string;
    } = {},
  ): PipelineStep<O, I> {
    return granularStep(name, agent, options);
  },

  /**
   * An agent that talks with people: each text that is sent to the run (`runner.send`) begins an exchange, which ends with the
   * complete answer. Between exchanges the run waits, without a process. `maxTurns` and `budget` are for one exchange.
   *
   * @example
   * const support = Step.conversation("support", clerk, { maxTurns: 10, closesAfterMs: 7 * 86_400_000 });
   */
  conversation: conversationStep,

  /**
   * Ordinary code. An interrupted step runs again from its start; its calls through `ctx.call` have receipts and are not
   * made again. Any other effect is at-least-once.
   *
   * Written inside `Pipeline.of`, the input has the type of the previous output; elsewhere annotate it, or it is `Json`.
   *
   * @example
   * const total = Step.run("total", (prices: number[]) => prices.reduce((sum, price) => sum + price, 0));
   */
  run<I = Json, O = Json>(
    name: string,
    code: ((input: I, context: CodeStepContext) => Promise<O> | O) & ReturnsJson<O>,
    options: {
      /** A name, for people, for steps that belong together. */
      readonly phase?: string;
    } = {},
  ): CodeStep<Jsonified<O>, I> {
    assertStepName("step", name);
    assertOptions(`Step.run(${JSON.stringify(name)}, …)`, options, RUN_NAMES);
    assertFunction(`Step.run(${JSON.stringify(name)}, …)`, "code", code);
    assertPhase(name, options.phase);
    return { kind: "run", name, code, ...givenOptions(options, RUN_NAMES) };
  },

  /**
   * A question to a person. The run waits, and the answer is the step's output: one of the `choices`, or any JSON.
   *
   * @example
   * Step.human("check", { question: (draft) => `Send this? ${draft}`, choices: ["yes", "no"] });
   */
  human<I = Json, const C extends string = never>(
    name: string,
    given: {
      /** A text, or a function of the step's input. */
      readonly question: string | ((input: I) => string);
      /** The answers to choose from. By default any value is an answer. */
      readonly choices?: readonly C[];
      /**
       * What happens if nobody answers in time: the step gets an `{ answer }`, it fails, or the question is marked for people
       * to see. By default as `policy.timeLimits.question` of the runner says, or the question stays open.
       */
      readonly timeLimit?: TimeLimit;
      /** A name, for people, for steps that belong together. */
      readonly phase?: string;
    },
  ): CodeStep<HumanAnswer<C>, I> {
    assertOptions(`Step.human(${JSON.stringify(name)}, …)`, given, HUMAN_NAMES, HUMAN_OTHER_NAMES);
    const { question, choices, timeLimit, ...options } = givenOptions(given, HUMAN_NAMES);
    if (typeof question !== "function") assertQuestion(question, name);
    const limit =
      timeLimit === undefined ? null : timeLimitOf(`timeLimit of step ${name}`, "question", timeLimit);
    assertChoice(name, limit, choices);
    // Any JSON by its type. The store accepts no answer that is not one of the choices.
    const { outputType: _, ...step } = Step.run<I, Json>(
      name,
      (input, context) =>
        context.call(askAt(name, limit), {
          question: questionOf(question, input, name),
          ...(choices === undefined ? {} : { choices: [...choices] }),
        }),
      options,
    );
    return { ...step, tools: async () => ({ ask_human: askHuman }) };
  },

  /**
   * Waits for so many milliseconds, or until a time, and passes its input on. The run is released meanwhile: no process
   * has to stay. The time is computed once, and kept over restarts.
   *
   * @example
   * Step.sleep("pause", 3_600_000);
   */
  sleep: sleepStep,

  /**
   * Waits for a message to the run, and outputs it: `{ event, data, by, at }`. A message that came before is there. If none
   * comes within `timeoutMs`, the run fails, and waits again when it is resumed; with `onTimeout: "go_on"` the output is
   * `{ timedOut: true }`. `address` is a name by which messages reach the run, also one that depends on the step's input.
   *
   * @example
   * Step.receive("paid", { event: "payment.confirmed", schema: z.object({ amount: z.number() }), timeoutMs: 86_400_000 });
   */
  receive: receiveStep,

  /**
   * Repeats the body, on its own output, until `until` returns true. Every iteration is a step instance of its own. The
   * body's output must fit its input.
   */
  loop<O, I = Json>(
    name: string,
    body: After<O, O> & WiredStep<O, I>,
    options: {
      /** Called with the output of each iteration; true ends the loop. */
      readonly until: (output: O, context: JsonObject) => boolean | Promise<boolean>;
      /** The run fails with `MaxIterationsExceededError` after this many. */
      readonly maxIterations: number;
      /** A failing iteration ends the loop. `"abort"` is the default and the only choice so far. */
      readonly onFailure?: "abort";
      /** A name, for people, for steps that belong together. */
      readonly phase?: string;
    },
  ): LoopStep<O, I> {
    assertStepName("step", name);
    const which = `Step.loop(${JSON.stringify(name)}, …)`;
    assertOptions(which, options, LOOP_NAMES, { max: "maxIterations", maxTurns: "maxIterations" });
    assertStep(which, body);
    assertFunction(which, "until", options.until);
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

/** Refuses code whose output cannot be stored, such as a `Date` or a `Map`. Nothing at all is stored as null. */
type ReturnsJson<O> = [Exclude<O, void>] extends [Storable<Exclude<O, void>>]
  ? unknown
  : {
      readonly "The output of a step must be JSON: pass a date as its ISO string, a Map or a Set as a list.": never;
    };

/** The answer to a question: one of its choices; any JSON if it has none. */
type HumanAnswer<C extends string> = [C] extends [never] ? Json : C;

/** Composes steps. */
export const Pipeline: {
  readonly of: PipelineOf;
  readonly stoppingWhen: <O, I>(
    pipeline: PipelineStep<O, I>,
    conditions: StopConditions,
  ) => PipelineStep<O, I>;
} = {
  // The type of a pipeline is in the signatures of `PipelineOf`; this one fits them all.
  of(name: string, ...given: readonly (StepNode | undefined)[]): PipelineStep<never, unknown> {
    assertStepName("pipeline", name);
    for (const step of given) assertStep(`Pipeline.of(${JSON.stringify(name)}, …)`, step);
    const steps = given.filter((step) => step !== undefined);
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
  stoppingWhen(pipeline, conditions) {
    for (const [name, condition] of Object.entries(conditions)) {
      if (typeof condition === "function") continue;
      throw new ConfigurationError(
        `The stop condition ${name} of pipeline ${pipeline.name} is not a function.`,
      );
    }
    return { ...pipeline, stopConditions: { ...pipeline.stopConditions, ...conditions } };
  },
};

const RUN_NAMES = { phase: true } satisfies OptionNames<NonNullable<Parameters<typeof Step.run>[2]>>;

const HUMAN_NAMES = { question: true, choices: true, timeLimit: true, phase: true } satisfies OptionNames<
  Parameters<typeof Step.human>[1]
>;

const HUMAN_OTHER_NAMES = {
  prompt: "question",
  message: "question",
  options: "choices",
  answers: "choices",
  timeoutMs: "timeLimit",
  timeout: "timeLimit",
};

const LOOP_NAMES = { until: true, maxIterations: true, onFailure: true, phase: true } satisfies OptionNames<
  Parameters<typeof Step.loop>[2]
>;

function assertStep(which: string, step: unknown): void {
  if (isAgent(step))
    throw new ConfigurationError(
      `${which} has agent ${step.name} where a step belongs: wrap it, Step.granular(${JSON.stringify(step.name)}, agent).`,
    );
  if (typeof step === "object" && step !== null && "kind" in step && "name" in step) return;
  throw new ConfigurationError(
    `${which} has ${kindOf(step)} where a step belongs: make one with Step.granular, Step.conversation, Step.run, Step.human, Step.sleep, Step.receive or Step.loop.`,
  );
}

function assertFunction(which: string, what: string, value: unknown): void {
  if (typeof value === "function") return;
  throw new ConfigurationError(`${which} has ${kindOf(value)} as its ${what}: give a function.`);
}

/** The answer that nobody gives is one of the choices, too. */
function assertChoice(step: string, limit: WaitClock | null, choices: readonly string[] | undefined): void {
  const onDue = limit?.onDue;
  if (choices === undefined || onDue?.action !== "answer") return;
  if (choices.some((choice) => choice === onDue.value)) return;
  throw new ConfigurationError(
    `timeLimit of step ${step} answers ${JSON.stringify(onDue.value)}, which is none of its choices: use one of ${choices.join(", ")}.`,
  );
}
