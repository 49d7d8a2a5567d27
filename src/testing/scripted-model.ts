import { appendFileSync } from "node:fs";
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
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
 * It can be asked for a stream, too, and then gives its text word by word.
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
  const answer = async (call: LanguageModelV4CallOptions): Promise<LanguageModelV4GenerateResult> => {
    const turn = call.prompt.filter((message) => message.role === "assistant").length + 1;
    if (options.witness !== undefined) appendFileSync(options.witness, `model ${turn}\n`);
    const response = typeof script === "function" ? await script({ turn, options: call }) : script[turn - 1];
    if (response === undefined) throw new Error(`The script has no answer for turn ${turn}.`);
    return resultOf(turn, response);
  };
  return {
    specificationVersion: "v4",
    provider: options.provider ?? "scripted",
    modelId: options.modelId ?? "scripted-model",
    supportedUrls: {},
    doGenerate: answer,
    doStream: async (call) => ({ stream: streamOf(await answer(call)) }),
  };
}

/** The answer in pieces: a text word by word, and the arguments of a call at once. */
function streamOf({
  content,
  finishReason,
  usage,
}: LanguageModelV4GenerateResult): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream({
    start(controller) {
      for (const [index, part] of content.entries())
        for (const piece of piecesOf(part, String(index))) controller.enqueue(piece);
      controller.enqueue({ type: "finish", finishReason, usage });
      controller.close();
    },
  });
}

function piecesOf(part: LanguageModelV4Content, id: string): LanguageModelV4StreamPart[] {
  if (part.type === "tool-call")
    return [
      { type: "tool-input-start", id: part.toolCallId, toolName: part.toolName },
      { type: "tool-input-delta", id: part.toolCallId, delta: part.input },
      { type: "tool-input-end", id: part.toolCallId },
      part,
    ];
  if (part.type !== "text") return [];
  const words = part.text.match(/\s*\S+\s*$|\s*\S+|\s+/g) ?? [];
  return [
    { type: "text-start", id },
    ...words.map((delta) => ({ type: "text-delta", id, delta }) as const),
    { type: "text-end", id },
  ];
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
