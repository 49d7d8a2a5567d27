import type { LanguageModelV4, LanguageModelV4Content, LanguageModelV4Usage } from "@ai-sdk/provider";
import type { ModelMessage, ToolSet, TypedToolCall } from "ai";
import { isJsonObject, type Json } from "../../core/json.ts";
import { type AssistantPart, isTextPart } from "../../core/message.ts";
import { plainJson } from "../../core/plain-json.ts";
import { type ReportedUsage, usageOf } from "../../core/usage/usage.ts";
import type { ModelRequest, ModelResponse, ModelTool } from "../../engine/ports/model-port.ts";
import { causesOf, messageOf } from "../net/error-causes.ts";
import type { SharedCall } from "./ai-sdk-call-options.ts";
import { cutCallOf } from "./ai-sdk-exchange.ts";
import type { AiSdkPackage } from "./ai-sdk-package.ts";
import type { ProviderAnswer } from "./ai-sdk-provider-answer.ts";
import { answerOf, throughSdk } from "./ai-sdk-stand-in.ts";

type ToolCall = TypedToolCall<ToolSet>;

export type ResponseMeans = {
  readonly ai: AiSdkPackage;
  readonly model: LanguageModelV4;
  readonly shared: SharedCall;
};

type ReadAnswer = Pick<ModelResponse, "content" | "invalidCalls">;

/** The provider's answer, ready to be stored. Its arguments are parsed and validated. */
export async function responseOf(
  means: ResponseMeans,
  { tools }: Pick<ModelRequest, "tools">,
  answer: ProviderAnswer,
): Promise<ModelResponse> {
  const { finishReason, usage, responseId, excess } = answer;
  const { content, invalidCalls } =
    (await plainAnswer(answer, tools)) ?? (await readBySdk(means, tools, answer));
  return {
    content,
    finishReason: finishReason.unified,
    usage: usageOf(reportedUsage(usage), { hasContent: content.length > 0 || excess !== null }),
    invalidCalls,
    responseId,
  };
}

/** An answer of texts and valid calls alone; null if it holds something that is better left to the SDK. */
async function plainAnswer(answer: ProviderAnswer, tools: readonly ModelTool[]): Promise<ReadAnswer | null> {
  if (cutCallOf(answer) !== null) return null;
  const content: AssistantPart[] = [];
  for (const part of answer.content) {
    if (isLeftOut(part)) continue;
    const stored = await plainPart(part, tools);
    if (stored === null) return null;
    content.push(storedPart(stored, undefined));
  }
  return { content, invalidCalls: {} };
}

/** Sources, and texts without anything in them: no provider expects them back. */
function isLeftOut(part: LanguageModelV4Content): boolean {
  return (
    part.type === "source" ||
    (part.type === "text" && part.text === "" && part.providerMetadata === undefined)
  );
}

type StoredForm = { readonly type: string };

async function plainPart(
  part: LanguageModelV4Content,
  tools: readonly ModelTool[],
): Promise<StoredForm | null> {
  if (part.type === "text" || part.type === "reasoning") {
    const { type, text, providerMetadata: providerOptions } = part;
    return { type, text, providerOptions } as StoredForm;
  }
  if (part.type !== "tool-call" || part.providerExecuted !== undefined) return null;
  const tool = tools.find(({ name }) => name === part.toolName);
  const input = tool === undefined ? null : await validInput(tool, part.input);
  if (input === null) return null;
  const { type, toolCallId, toolName, providerMetadata: providerOptions } = part;
  return { type, toolCallId, toolName, input: input.value, providerOptions } as StoredForm;
}

/** Names that the SDK's parser refuses, however they are escaped. */
const MAY_HOLD_PROTOTYPE = /proto|constructor|\\u00/i;

/** Null if they are not valid: then the SDK says what is wrong. */
async function validInput(tool: ModelTool, input: string): Promise<{ readonly value: Json } | null> {
  if (MAY_HOLD_PROTOTYPE.test(input)) return null;
  try {
    const validated = await tool.validate(input.trim() === "" ? {} : JSON.parse(input));
    return validated.ok ? validated : null;
  } catch {
    return null;
  }
}

async function readBySdk(
  { ai, model, shared }: ResponseMeans,
  tools: readonly ModelTool[],
  answer: ProviderAnswer,
): Promise<ReadAnswer> {
  const { content, finishReason, usage } = answer;
  const { result } = await throughSdk(
    ai,
    model,
    {
      messages: [{ role: "user", content: "." }],
      ...(shared.tools === undefined ? {} : { tools: shared.tools }),
    },
    answerOf({ content, finishReason, usage }),
  );
  return {
    content: contentOf(result.responseMessages, result.toolCalls),
    invalidCalls: invalidCallsOf(result.toolCalls, tools, cutCallOf(answer)),
  };
}

/**
 * The assistant's parts, ready to be stored and sent back. The SDK's own error results for invalid calls are left out,
 * since the engine makes the results of all calls.
 */
function contentOf(messages: readonly ModelMessage[], calls: readonly ToolCall[]): AssistantPart[] {
  const invalidInputs = new Map(calls.filter(isInvalid).map((call) => [call.toolCallId, call.input]));
  return messages
    .filter((message) => message.role === "assistant")
    .flatMap(({ content }) =>
      typeof content === "string" ? [{ type: "text" as const, text: content }] : content,
    )
    .map((part) =>
      storedPart(part, part.type === "tool-call" ? invalidInputs.get(part.toolCallId) : undefined),
    );
}

/** The SDK replaces arguments that are not JSON by `{}`: the model's own text is kept instead. */
function storedPart(part: { readonly type: string }, invalidInput: unknown): AssistantPart {
  const copy = plainJson(invalidInput === undefined ? part : { ...part, input: invalidInput });
  return { ...(isJsonObject(copy) ? copy : {}), type: part.type };
}

/** True if there is nothing to continue a turn with: no text, no call, no file; at most reasoning. */
export function isEmptyAnswer(content: readonly AssistantPart[]): boolean {
  return content.every(
    (part) => part.type.startsWith("reasoning") || (isTextPart(part) && part.text.trim() === ""),
  );
}

/** Call id → the error message for the model, for calls that cannot be run. `cutCallId` is the call that was cut off. */
function invalidCallsOf(
  calls: readonly ToolCall[],
  tools: readonly ModelTool[],
  cutCallId: string | null,
): { readonly [toolCallId: string]: string } {
  const isCut = ({ toolCallId }: ToolCall) => toolCallId === cutCallId;
  return Object.fromEntries(
    calls
      .filter((call) => (isInvalid(call) || isCut(call)) && call.providerExecuted !== true)
      .map((call) => [call.toolCallId, callProblem(call, tools, cutCallId).toWellFormed()]),
  );
}

function isInvalid(call: ToolCall): boolean {
  return call.invalid === true;
}

function callProblem(call: ToolCall, tools: readonly ModelTool[], cutCallId: string | null): string {
  if (!tools.some((tool) => tool.name === call.toolName)) {
    const names = tools.map((tool) => tool.name).join(", ");
    return `There is no tool "${call.toolName}". ${names === "" ? "No tools are available." : `The tools are: ${names}.`}`;
  }
  if (call.toolCallId === cutCallId)
    return `The arguments of "${call.toolName}" were cut off: your answer reached the limit of its output tokens. Call it again with shorter arguments, or in several calls.`;
  const causes = [...causesOf("error" in call ? call.error : undefined)];
  const reason = messageOf(causes.at(-1));
  if (!causes.some((cause) => cause.name === "AI_JSONParseError")) return reason;
  return `The arguments of "${call.toolName}" are not valid JSON (${reason}). Call it again with one complete JSON object that fits its schema.`;
}

/** The provider's figures as reported; they are checked elsewhere. */
function reportedUsage({ inputTokens, outputTokens }: LanguageModelV4Usage): ReportedUsage {
  return {
    inputTokens: inputTokens.total,
    outputTokens: outputTokens.total,
    cachedInputTokens: inputTokens.cacheRead,
    reasoningTokens: outputTokens.reasoning,
  };
}
