import { ConfigurationError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import type { Message } from "../../core/message.ts";
import { assertOptions, givenOptions, type OptionNames } from "../../core/naming/option-names.ts";
import { type Budget, limitOf } from "../../core/usage/given-budget.ts";
import type { Limit } from "../../core/usage/quota.ts";
import type { Agent } from "./agent.ts";
import {
  assertPositive,
  GRANULAR_NAMES,
  type GranularOptions,
  type GranularStep,
  turnsOf,
} from "./granular-step.ts";
import type { PipelineStep, StepNode } from "./step-node.ts";

/** A step in which an agent talks with people. */
export interface ConversationStep<O = unknown> extends StepNode<O> {
  readonly kind: "conversation";
  readonly children: readonly [GranularStep<O>];
  /** The most turns of one exchange. */
  readonly maxTurns: number;
  /** The most that the model calls of one exchange may cost. */
  readonly limit: Limit;
  readonly whileBusy: WhileBusy;
  readonly closesAfterMs: number | null;
  readonly divergence: ConversationDivergence;
  readonly compaction: CompactionOptions | null;
}

type WhileBusy = "queue" | "steer";
type ConversationDivergence = "between_exchanges" | "stop";

/** When and how the history of a conversation is replaced by a summary. */
export type CompactionOptions = {
  /**
   * A history of more tokens than this is compacted before the next exchange begins. At most `historyMaxTokens`: the model
   * would not see what is older. A summary may have half of it.
   */
  readonly atTokens: number;
  /** What the agent's model is asked for. By default a summary with which it can continue the conversation. */
  readonly instructions?: string;
  /**
   * Writes the summary in place of the model, from what the model would see. It is called again if the process dies before
   * the summary is stored.
   */
  readonly summarize?: (
    history: readonly Message[],
    context: { readonly signal: AbortSignal },
  ) => string | Promise<string>;
};

/** Options of `Step.conversation` and `conversation`, beside those of `Step.granular`. */
export type ConversationOptions<I = never> = Partial<GranularOptions<I>> & {
  /** The most turns of one exchange. By default the agent's, or 20. An exchange that takes more ends without an answer. */
  readonly maxTurns?: number;
  /** The most that the model calls of one exchange may use, inside the budget of the run. */
  readonly budget?: Budget;
  /** What a text does that comes while the agent answers, unless its sender says so; `"queue"` by default. */
  readonly whileBusy?: WhileBusy;
  /** The step ends, with the last answer, once nobody has written for so long. By default it waits for ever. */
  readonly closesAfterMs?: number;
  /**
   * `"between_exchanges"`, the default: an agent that was changed is accepted where no exchange is open, and that is recorded.
   * Inside an exchange, and with `"stop"`, a change is treated as `onDivergence` of the runner says.
   */
  readonly divergence?: ConversationDivergence;
  /** Replaces a long history by a summary, between two exchanges. By default the history grows, and is only cut in the view. */
  readonly compaction?: CompactionOptions;
  /** A name, for people, for steps that belong together. */
  readonly phase?: string;
};

const CONVERSATION_NAMES = {
  ...GRANULAR_NAMES,
  budget: true,
  whileBusy: true,
  closesAfterMs: true,
  divergence: true,
  compaction: true,
} satisfies OptionNames<ConversationOptions>;

const COMPACTION_NAMES = {
  atTokens: true,
  instructions: true,
  summarize: true,
} satisfies OptionNames<CompactionOptions>;

const OTHER_NAMES = { maxSteps: "maxTurns", mode: "whileBusy", closeAfterMs: "closesAfterMs" };

function isConversationStep(step: StepNode): step is ConversationStep {
  return step.kind === "conversation" && "whileBusy" in step;
}

/** The conversations of a pipeline. */
export function conversationsOf(step: StepNode): readonly ConversationStep[] {
  return isConversationStep(step) ? [step] : (step.children ?? []).flatMap(conversationsOf);
}

/** `Step.conversation`. */
export function conversationStep<O, I = Json>(
  name: string,
  agent: Agent<O>,
  options: ConversationOptions<I> = {},
): PipelineStep<O, I> {
  const which = `Step.conversation(${JSON.stringify(name)}, …)`;
  assertOptions(which, options, CONVERSATION_NAMES, OTHER_NAMES);
  const {
    budget,
    whileBusy = "queue",
    closesAfterMs = null,
    divergence = "between_exchanges",
    compaction,
    ...given
  } = givenOptions(options, CONVERSATION_NAMES);
  const { maxTurns, phase, granular } = turnsOf(which, name, agent, given);
  assertWord(which, "whileBusy", whileBusy, ["queue", "steer"]);
  assertWord(which, "divergence", divergence, ["between_exchanges", "stop"]);
  if (closesAfterMs !== null) assertPositive(`closesAfterMs of step ${name}`, closesAfterMs);
  const step: ConversationStep<O> = {
    kind: "conversation",
    name,
    children: [granular],
    maxTurns,
    limit: limitOf(budget),
    whileBusy,
    closesAfterMs,
    divergence,
    compaction:
      compaction === undefined ? null : compactionOf(which, compaction, granular.options.historyMaxTokens),
  };
  return {
    kind: "pipeline",
    name,
    children: [step],
    inline: true,
    ...(phase === undefined ? {} : { phase }),
  };
}

/**
 * A pipeline of one conversation: for a `Runner`, a `Worker` or a configuration, wherever an agent may be.
 *
 * @example
 * const chat = new Runner(conversation(clerk), { store });
 * await chat.send("chat-7", "Where is my order?", { by: "ann", orStart: {} });
 */
export function conversation<O>(
  agent: Agent<O>,
  options: ConversationOptions<Json> = {},
): PipelineStep<O, Json> {
  return conversationStep(agent.name, agent, options);
}

function assertWord(which: string, what: string, value: unknown, words: readonly string[]): void {
  if (words.some((word) => word === value)) return;
  throw new ConfigurationError(
    `${which} has ${what} ${JSON.stringify(value)}: use ${words.map((word) => JSON.stringify(word)).join(" or ")}.`,
  );
}

/** The checked options of the conversation `which`. */
function compactionOf(which: string, given: CompactionOptions, historyMaxTokens: number): CompactionOptions {
  const what = `compaction of ${which}`;
  assertOptions(what, given, COMPACTION_NAMES, {
    maxTokens: "atTokens",
    prompt: "instructions",
    summarise: "summarize",
  });
  const options = givenOptions(given, COMPACTION_NAMES);
  const { atTokens, instructions, summarize } = options;
  assertPositive(`atTokens of the ${what}`, atTokens);
  if (atTokens > historyMaxTokens)
    throw new ConfigurationError(
      `atTokens of the ${what} is ${atTokens}, and historyMaxTokens is ${historyMaxTokens}: the summary would miss what the model no longer sees. Lower atTokens, or raise historyMaxTokens.`,
    );
  if (summarize !== undefined && typeof summarize !== "function")
    throw new ConfigurationError(
      `The ${what} has a summarize that is no function: give one, or leave it out.`,
    );
  if (instructions !== undefined && (typeof instructions !== "string" || instructions.trim() === ""))
    throw new ConfigurationError(`The ${what} has empty instructions: give a text, or leave them out.`);
  if (instructions !== undefined && summarize !== undefined)
    throw new ConfigurationError(
      `The ${what} has instructions for the model and a function that takes its place: give one of them.`,
    );
  return options;
}
