import { ConfigurationError } from "../../core/errors.ts";
import type { Json, Jsonified } from "../../core/json.ts";
import { assertOptions, givenOptions, kindOf, type OptionNames } from "../../core/naming/option-names.ts";
import { assertStepName } from "../../core/step-path.ts";
import type { CodeStep, CodeStepContext } from "./code-step-context.ts";
import type { Tool } from "./tool.ts";
import {
  assertAddress,
  assertReceive,
  assertWaitMs,
  parseReceived,
  type ReceivedMessage,
  type ReceiveOptions,
  type TimedOut,
} from "./waiting/received-message.ts";
import { instantOf, receiveInStep, sleepInStep } from "./waiting/wait-tools.ts";

// `Step.sleep` and `Step.receive`: steps of code whose only call waits.

/** How long `Step.sleep` waits: milliseconds, or until a time. */
export type SleepTime<I> =
  | number
  | {
      /** A function of the step's input: a `Date`, or an ISO date-time with an offset. */
      readonly until: (input: I) => Date | string;
    };

const UNTIL_NAMES = { until: true } satisfies OptionNames<Exclude<SleepTime<Json>, number>>;

/** `Step.sleep`. */
export function sleepStep<I = Json>(name: string, time: SleepTime<NoInfer<I>>): CodeStep<I, I> {
  assertStepName("step", name);
  const which = `Step.sleep(${JSON.stringify(name)}, …)`;
  const inputOf = sleepInput(which, time);
  return waitStep(name, sleepInStep, async (input: I, context) => {
    await context.call(sleepInStep, inputOf(input));
    return input;
  });
}

function sleepInput<I>(
  which: string,
  time: SleepTime<I>,
): (input: I) => { readonly ms: number } | { readonly until: string } {
  if (typeof time !== "object") {
    assertWaitMs(`${which} has`, time);
    return () => ({ ms: time });
  }
  assertOptions(which, time, UNTIL_NAMES, { at: "until", ms: "give milliseconds as a number." });
  const { until } = time;
  if (typeof until !== "function")
    throw new ConfigurationError(`${which} has ${kindOf(until)} as until: give a function of its input.`);
  return (input) => ({ until: instantOf(`until of ${which}`, until(input)) });
}

const STEP_RECEIVE_NAMES = { phase: true } as const;

/** A name, for people, for steps that belong together. */
type PhaseOption = { readonly phase?: string };

/** What `Step.receive` waits for. */
export type StepReceiveOptions<T, I> = Omit<ReceiveOptions<T>, "address"> & {
  /**
   * A name by which messages reach the run, or a function of the step's input that returns one:
   * `(invoice) => \`invoice:${invoice.id}\``. The run has it from when it waits until it has ended; if another run has it,
   * the step fails.
   */
  readonly address?: string | ((input: I) => string);
};

/** `Step.receive`. */
export function receiveStep<T = Json, I = Json>(
  name: string,
  options: StepReceiveOptions<T, I> & PhaseOption & { readonly onTimeout?: "fail" },
): CodeStep<Jsonified<ReceivedMessage<T>>, I>;
export function receiveStep<T = Json, I = Json>(
  name: string,
  options: StepReceiveOptions<T, I> & PhaseOption,
): CodeStep<Jsonified<ReceivedMessage<T>> | TimedOut, I>;
export function receiveStep<T, I>(
  name: string,
  options: StepReceiveOptions<T, I> & PhaseOption,
): CodeStep<never, I> {
  assertStepName("step", name);
  const which = `Step.receive(${JSON.stringify(name)}, …)`;
  assertReceive(which, options, STEP_RECEIVE_NAMES);
  const { schema, phase, address, ...input } = givenOptions(options, ALL_NAMES);
  const where = `step ${name}`;
  const wait = receiveInStep(where);
  const step = waitStep(name, wait, async (given: I, context) => {
    const result = await context.call(wait, { ...input, ...addressFor(which, address, given) });
    return parseReceived(
      result as Json,
      { event: input.event, ...(schema === undefined ? {} : { schema }) },
      where,
    );
  });
  return { ...step, ...(phase === undefined ? {} : { phase }) } as CodeStep<never, I>;
}

function addressFor<I>(
  which: string,
  address: string | ((input: I) => string) | undefined,
  input: I,
): { readonly address?: string } {
  if (address === undefined) return {};
  const found = typeof address === "function" ? address(input) : address;
  assertAddress(which, found);
  return { address: found };
}

const ALL_NAMES = {
  event: true,
  address: true,
  schema: true,
  timeoutMs: true,
  onTimeout: true,
  phase: true,
} satisfies OptionNames<StepReceiveOptions<Json, Json> & PhaseOption>;

function waitStep<I, O>(
  name: string,
  tool: Tool,
  code: (input: I, context: CodeStepContext) => Promise<O>,
): CodeStep<O, I> {
  return { kind: "run", name, code, tools: async () => ({ [tool.name ?? name]: tool }) };
}
