import type { LanguageModelUsage, ModelMessage, ToolSet, TypedToolCall } from "ai";
import { isJsonObject } from "../../core/json.ts";
import { type AssistantPart, isTextPart } from "../../core/message.ts";
import { plainJson } from "../../core/plain-json.ts";
import type { ReportedUsage } from "../../core/usage/usage.ts";
import type { ModelTool } from "../../engine/ports/model-port.ts";
import { causesOf, messageOf } from "../net/error-causes.ts";

type ToolCall = TypedToolCall<ToolSet>;

/**
 * The assistant's parts, ready to be stored and sent back. The SDK also makes error results for invalid calls;
 * those are left out, since the engine makes the results of all calls.
 */
export function contentOf(messages: readonly ModelMessage[], calls: readonly ToolCall[]): AssistantPart[] {
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

/** The SDK puts `{}` where the arguments were no JSON: what the model wrote is kept instead. */
function storedPart(part: { readonly type: string }, invalidInput: unknown): AssistantPart {
  const copy = plainJson(invalidInput === undefined ? part : { ...part, input: invalidInput });
  return { ...(isJsonObject(copy) ? copy : {}), type: part.type };
}

/** Nothing that a turn could go on with: no text, no call, no file; at most the reasoning towards one. */
export function isEmptyAnswer(content: readonly AssistantPart[]): boolean {
  return content.every(
    (part) => part.type.startsWith("reasoning") || (isTextPart(part) && part.text.trim() === ""),
  );
}

/** Call id → what to tell the model about a call that cannot be run. `cutCallId` is the one that the answer ends within. */
export function invalidCallsOf(
  calls: readonly ToolCall[],
  tools: readonly ModelTool[],
  cutCallId: string | null,
): { readonly [toolCallId: string]: string } {
  const isCut = ({ toolCallId }: ToolCall) => toolCallId === cutCallId;
  return Object.fromEntries(
    calls
      .filter((call) => (isInvalid(call) || isCut(call)) && call.providerExecuted !== true)
      .map((call) => [call.toolCallId, whatIsWrong(call, tools, isCut(call)).toWellFormed()]),
  );
}

function isInvalid(call: ToolCall): boolean {
  return call.invalid === true;
}

function whatIsWrong(call: ToolCall, tools: readonly ModelTool[], isCut: boolean): string {
  if (!tools.some((tool) => tool.name === call.toolName)) {
    const names = tools.map((tool) => tool.name).join(", ");
    return `There is no tool "${call.toolName}". ${names === "" ? "No tools are available." : `The tools are: ${names}.`}`;
  }
  if (isCut)
    return `The arguments of "${call.toolName}" were cut off: your answer reached the limit of its output tokens. Call it again with shorter arguments, or in several calls.`;
  const causes = [...causesOf("error" in call ? call.error : undefined)];
  const reason = messageOf(causes.at(-1));
  if (!causes.some((cause) => cause.name === "AI_JSONParseError")) return reason;
  return `The arguments of "${call.toolName}" are not valid JSON (${reason}). Call it again with one complete JSON object that fits its schema.`;
}

/** The provider's figures as they are: whether they are usage is not decided here. */
export function reportedUsage({
  inputTokens,
  outputTokens,
  inputTokenDetails,
  outputTokenDetails,
}: LanguageModelUsage): ReportedUsage {
  return {
    inputTokens,
    outputTokens,
    cachedInputTokens: inputTokenDetails.cacheReadTokens,
    reasoningTokens: outputTokenDetails.reasoningTokens,
  };
}
