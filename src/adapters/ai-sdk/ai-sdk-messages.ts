import type { ModelMessage } from "ai";
import { isJsonObject, type Json } from "../../core/json.ts";
import { type AssistantPart, isToolCallPart, type Message } from "../../core/message.ts";
import type { AiSdkPackage } from "./ai-sdk-package.ts";
import { sendableOutput } from "./ai-sdk-tool-output.ts";

/**
 * A message in the AI SDK's format. Since version 7 the SDK converts messages without validating them, so an unknown part
 * would only fail somewhere inside a provider: it is validated here with the SDK's own schema.
 */
export function checkedMessage(
  ai: AiSdkPackage,
  message: Message,
  index: number,
  toolNames: ReadonlySet<string>,
): ModelMessage {
  const parsed = ai.modelMessageSchema.safeParse(sendableMessage(message, toolNames));
  if (parsed.success) return parsed.data;
  throw new Error(`message ${index + 1} (${message.role}) holds something that the AI SDK cannot send`);
}

function sendableMessage(message: Message, toolNames: ReadonlySet<string>): unknown {
  switch (message.role) {
    case "system":
    case "user":
      return message;
    case "assistant":
      return { role: "assistant", content: message.content.map((part) => sendablePart(part, toolNames)) };
    case "tool":
      return {
        role: "tool",
        content: message.content.map((part) => ({
          ...part,
          toolName: sendableName(part.toolName, toolNames),
          output: sendableOutput(part.output),
        })),
      };
  }
}

function sendablePart(part: AssistantPart, toolNames: ReadonlySet<string>): AssistantPart {
  if (!isToolCallPart(part)) return part;
  return { ...part, toolName: sendableName(part.toolName, toolNames), input: sendableInput(part.input) };
}

/**
 * Arguments are stored as the model wrote them, even if they are not JSON. Providers expect an object (Anthropic refuses
 * anything else, chat templates of local servers crash), so other values are sent back inside one. The SDK itself would
 * send `{}`, and the model could not see its mistake.
 */
export function sendableInput(input: Json): Json {
  return isJsonObject(input) ? input : { invalid_arguments: input };
}

/**
 * Models invent names such as `functions.search`. Providers refuse a request that contains one, even in the history:
 * without this, one such call would end the run.
 */
export function sendableName(name: string, toolNames: ReadonlySet<string>): string {
  if (toolNames.has(name) || /^[\w-]{1,64}$/.test(name)) return name;
  return name.replaceAll(/[^\w-]/g, "_").slice(0, 64) || "unnamed_tool";
}
