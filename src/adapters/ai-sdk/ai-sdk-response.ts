import type { LanguageModelUsage, ModelMessage, ToolSet, TypedToolCall } from "ai";
import { isJsonObject } from "../../core/json.ts";
import { type AssistantPart, isTextPart } from "../../core/message.ts";
import { plainJson } from "../../core/plain-json.ts";
import type { ReportedUsage } from "../../core/usage/usage.ts";
import type { ModelTool } from "../../engine/ports/model-port.ts";
import { causesOf, messageOf } from "../net/error-causes.ts";

type ToolCall = TypedToolCall<ToolSet>;

/**
 * The assistant's parts, ready to be stored and sent back. The SDK's own error results for invalid calls are left out,
 * since the engine makes the results of all calls.
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
export function invalidCallsOf(
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
