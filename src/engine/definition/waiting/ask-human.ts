import { z } from "zod";
import { ConfigurationError, NeedsHuman } from "../../../core/errors.ts";
import type { Json } from "../../../core/json.ts";
import type { WaitClock } from "../../../core/wait.ts";
import { builtInTool, type Tool } from "../tool.ts";

/** The `NeedsHuman` reason of a tool that asks a question: the person's answer is the tool's result. */
export const QUESTION = "question";

const questionInput = z.object({
  question: z
    .string()
    .min(1)
    .describe("What to ask, in words that a person understands without the context."),
  choices: z
    .array(z.string().min(1))
    .min(2)
    .optional()
    .describe("The answers to choose from, where there are some."),
});

/**
 * A tool that asks a person a question. The run waits, and the answer is the tool's result.
 *
 * @example
 * const writer = agent({ name: "writer", model, instructions: "Ask where you are not sure.", tools: { ask_human: askHuman } });
 */
export const askHuman: Tool<z.input<typeof questionInput>, Json> = builtInTool({
  name: "ask_human",
  description: "Ask a person a question and wait for the answer.",
  inputSchema: questionInput,
  effect: "read_only",
  execute({ question }): Promise<Json> {
    throw new NeedsHuman(QUESTION, question);
  },
});

/**
 * `askHuman` for a step, with its time limit. The step is the identity, so the answer still holds if the question is
 * reworded.
 */
export function askAt(step: string, limit: WaitClock | null = null): typeof askHuman {
  const tool = { ...askHuman, identity: () => ({ step }), dedupe: "call" } as const;
  if (limit === null) return tool;
  return {
    ...tool,
    execute({ question }: z.output<typeof questionInput>): Promise<Json> {
      const needed = new NeedsHuman(QUESTION, question);
      needed.clock = limit;
      throw needed;
    },
  };
}

/** The question of a step, as text. */
export function questionOf<I>(question: string | ((input: I) => string), given: I, step: string): string {
  const text: unknown = typeof question === "function" ? question(given) : question;
  assertQuestion(text, step);
  return text;
}

export function assertQuestion(text: unknown, step: string): asserts text is string {
  if (typeof text === "string" && text.trim() !== "") return;
  throw new ConfigurationError(
    text === undefined
      ? `Step.human(${JSON.stringify(step)}, …) has no question: give it { question: "…" }.`
      : `The question of step ${step} is ${JSON.stringify(text)}: give a text.`,
  );
}
