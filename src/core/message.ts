import type { Json, JsonObject } from "./json.ts";

/**
 * The conversation, in the shape of the AI SDK's `ModelMessage` restricted to JSON, so that what is stored is what
 * users know. Parts of a response that Pawl has no word for are kept as they came.
 */
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage;
export type SystemMessage = { readonly role: "system"; readonly content: string };
export type UserMessage = { readonly role: "user"; readonly content: string };
export type AssistantMessage = { readonly role: "assistant"; readonly content: readonly AssistantPart[] };
export type ToolMessage = { readonly role: "tool"; readonly content: readonly [ToolResultPart] };

export type AssistantPart = JsonObject & { readonly type: string };
export type TextPart = AssistantPart & { readonly type: "text"; readonly text: string };
export type ToolCallPart = AssistantPart & {
  readonly type: "tool-call";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: Json;
};

export type ToolResultPart = {
  readonly type: "tool-result";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly output: ToolOutput;
};
export type ToolOutput =
  | { readonly type: "json"; readonly value: Json }
  | { readonly type: "text"; readonly value: string }
  | { readonly type: "error-text"; readonly value: string };

export function isTextPart(part: AssistantPart): part is TextPart {
  return part.type === "text" && typeof part.text === "string";
}

/** A call that Pawl has to run; one that the provider runs itself is only a part of the response. */
export function isToolCallPart(part: AssistantPart): part is ToolCallPart {
  return part.type === "tool-call" && part.providerExecuted !== true;
}

export function textOf(content: readonly AssistantPart[]): string {
  return content
    .filter(isTextPart)
    .map((part) => part.text)
    .join("");
}

export function toolCallsOf(content: readonly AssistantPart[]): ToolCallPart[] {
  return content.filter(isToolCallPart);
}
