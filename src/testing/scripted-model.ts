import { appendFileSync } from "node:fs";
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
} from "@ai-sdk/provider";
import { assertOptions, type OptionNames } from "../core/naming/option-names.ts";

/** One answer of a scripted model. */
export type ScriptedResponse = {
  readonly text?: string;
  readonly toolCalls?: readonly { readonly name: string; readonly input: unknown; readonly id?: string }[];
  /** By default 10 in and 5 out; null for a provider that reports no usage. */
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number } | null;
  /** By default "tool-calls" or "stop"; "length" is an answer that was cut off. */
  readonly finishReason?: FinishReason;
};

type FinishReason = LanguageModelV4GenerateResult["finishReason"]["unified"];

/** The argument of a script that is a function. */
export type ScriptedTurn = {
  /** From 1: the number of model answers in the conversation, plus one. */
  readonly turn: number;
  readonly options: LanguageModelV4CallOptions;
};

/** The answers of a scripted model: a list by turn, or a function. */
export type Script =
  | readonly ScriptedResponse[]
  | ((turn: ScriptedTurn) => ScriptedResponse | Promise<ScriptedResponse>);

/**
 * A model that answers from a script. The answer depends only on the conversation (the number of answers it already
 * holds), so a new process resumes at the right place. With a witness file it appends one line per call before it
 * answers: a count that is independent of the code under test.
 *
 * A truncated history holds fewer answers than were given: then use a script that reads the conversation.
 *
 * @example
 * const model = scriptedModel([{ toolCalls: [{ name: "search", input: { q: "pawl" } }] }, { text: "Found it." }]);
 */
export function scriptedModel(
  script: Script,
  options: { readonly witness?: string; readonly modelId?: string; readonly provider?: string } = {},
): LanguageModelV4 {
  assertOptions("The second argument of scriptedModel", options, MODEL_NAMES);
  return {
    specificationVersion: "v4",
    provider: options.provider ?? "scripted",
    modelId: options.modelId ?? "scripted-model",
    supportedUrls: {},
    async doGenerate(call) {
      const turn = call.prompt.filter((message) => message.role === "assistant").length + 1;
      if (options.witness !== undefined) appendFileSync(options.witness, `model ${turn}\n`);
      const response =
        typeof script === "function" ? await script({ turn, options: call }) : script[turn - 1];
      if (response === undefined) throw new Error(`The script has no answer for turn ${turn}.`);
      return resultOf(turn, response);
    },
    doStream() {
      throw new Error("A scripted model does not stream: Pawl asks for whole responses.");
    },
  };
}

const MODEL_NAMES = { witness: true, modelId: true, provider: true } satisfies OptionNames<
  NonNullable<Parameters<typeof scriptedModel>[1]>
>;

function resultOf(
  turn: number,
  { text, toolCalls = [], usage, finishReason: given }: ScriptedResponse,
): LanguageModelV4GenerateResult {
  const content: LanguageModelV4Content[] = text === undefined ? [] : [{ type: "text", text }];
  toolCalls.forEach(({ name, input, id }, i) => {
    const toolCallId = id ?? `call-${turn}-${i + 1}`;
    content.push({ type: "tool-call", toolCallId, toolName: name, input: JSON.stringify(input) });
  });
  const finishReason = given ?? (toolCalls.length > 0 ? "tool-calls" : "stop");
  const figures = usage === undefined ? { inputTokens: 10, outputTokens: 5 } : usage;
  return {
    content,
    finishReason: { unified: finishReason, raw: finishReason },
    usage: {
      inputTokens: {
        total: figures?.inputTokens,
        noCache: undefined,
        cacheRead: undefined,
        cacheWrite: undefined,
      },
      outputTokens: { total: figures?.outputTokens, text: undefined, reasoning: undefined },
    },
    warnings: [],
  };
}
