import type { ModelMessage } from "ai";
import { isJsonObject, type Json } from "../../core/json.ts";
import { type AssistantPart, isToolCallPart, type Message } from "../../core/message.ts";
import type { AiSdkPackage } from "./ai-sdk-package.ts";
import { sendableOutput } from "./ai-sdk-tool-output.ts";

/**
 * The conversation as the AI SDK wants it. Since version 7 the SDK converts messages without looking at them, so a
 * part that it has no word for would only fail somewhere inside a provider: its own schema is asked here.
 */
export function modelMessages(
  ai: AiSdkPackage,
  messages: readonly Message[],
  toolNames: ReadonlySet<string>,
): ModelMessage[] {
  return messages.map((message, index) => {
    const parsed = ai.modelMessageSchema.safeParse(sendableMessage(message, toolNames));
    if (parsed.success) return parsed.data;
    throw new Error(`message ${index + 1} (${message.role}) holds something that the AI SDK cannot send`);
  });
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
 * What the model wrote where arguments belong is stored as it came, even when it is no JSON. Providers want an
 * object (Anthropic refuses anything else, chat templates of local servers crash), so it goes back inside of one.
 * The SDK itself would send `{}`, and the model could not see what it did wrong.
 */
function sendableInput(input: Json): Json {
  return isJsonObject(input) ? input : { invalid_arguments: input };
}

/**
 * Models invent names such as `functions.search`. Providers refuse a request in which one occurs, even in the
 * past: without this, one such call would end the run.
 */
function sendableName(name: string, toolNames: ReadonlySet<string>): string {
  if (toolNames.has(name) || /^[\w-]{1,64}$/.test(name)) return name;
  return name.replaceAll(/[^\w-]/g, "_").slice(0, 64) || "unnamed_tool";
}
