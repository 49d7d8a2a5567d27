import type { LanguageModelV4, LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";
import type { ModelMessage } from "ai";
import type { JsonObject } from "../../core/json.ts";
import {
  type AssistantPart,
  isToolCallPart,
  type ToolResultPart,
  type UserTextPart,
} from "../../core/message.ts";
import type { ModelRequest, RequestFile, RequestMessage } from "../../engine/ports/model-port.ts";
import {
  type ConvertedMessage,
  type ModelExtras,
  providerOptionsOf,
  type SharedCall,
} from "./ai-sdk-call-options.ts";
import { checkedMessage, sendableInput, sendableName } from "./ai-sdk-messages.ts";
import type { AiSdkPackage } from "./ai-sdk-package.ts";
import type { AiSdkSettings } from "./ai-sdk-settings.ts";
import { throughSdk } from "./ai-sdk-stand-in.ts";
import { takesSystemMessages, withoutSystemMessages } from "./ai-sdk-system-messages.ts";

type UserPartV4 = Extract<LanguageModelV4Message, { role: "user" }>["content"][number];
type AssistantV4 = Extract<LanguageModelV4Message, { role: "assistant" }>;
type ToolV4 = Extract<LanguageModelV4Message, { role: "tool" }>;
type AssistantPartV4 = AssistantV4["content"][number];
type ToolPartV4 = ToolV4["content"][number];

export type PromptMeans = {
  readonly ai: AiSdkPackage;
  readonly model: LanguageModelV4;
  readonly extras: ModelExtras;
  readonly shared: SharedCall;
};

/**
 * The conversation as the provider gets it. A message is converted once: here, if it holds only what every conversation
 * holds, and else by the AI SDK, which also downloads the files that the model cannot. Every request gets its own copy,
 * since a middleware may change the prompt that it gets.
 */
export async function promptOf(means: PromptMeans, request: ModelRequest): Promise<LanguageModelV4Prompt> {
  const { ai, model, shared } = means;
  if (request.messages.length === 0)
    throw new ai.InvalidPromptError({ prompt: "", message: "messages must not be empty" });
  const messages = takesSystemMessages(model, request.instructions)
    ? request.messages
    : withoutSystemMessages(request.messages);
  const converted: ConvertedMessage[] = [];
  let index = 0;
  for (const message of messages) {
    let known = shared.messages.get(message);
    if (known === undefined) {
      known = await convert(means, message, index, request.signal);
      shared.messages.set(message, known);
    }
    converted.push(known);
    index++;
  }
  assertAnswered(ai, converted);
  return [...instructionsOf(request), ...joined(converted)];
}

function instructionsOf({ instructions, settings }: ModelRequest): LanguageModelV4Prompt {
  // Some providers refuse an empty system message.
  if (instructions === "") return [];
  const { instructionOptions }: AiSdkSettings = settings;
  if (instructionOptions === undefined) return [{ role: "system", content: instructions }];
  const providerOptions = providerOptionsOf(instructionOptions, "instructionOptions");
  return [{ role: "system", content: instructions, providerOptions: copyOf(providerOptions) }];
}

async function convert(
  means: PromptMeans,
  message: RequestMessage,
  index: number,
  signal: AbortSignal,
): Promise<ConvertedMessage> {
  const plain = plainMessage(message, means.shared.toolNames);
  return idsOf(plain ?? (await convertedBySdk(means, message, index, signal)));
}

function idsOf(sent: LanguageModelV4Message): ConvertedMessage {
  const calls: string[] = [];
  const results: string[] = [];
  if (sent.role === "assistant")
    for (const part of sent.content)
      if (part.type === "tool-call" && part.providerExecuted !== true) calls.push(part.toolCallId);
  if (sent.role === "tool")
    for (const part of sent.content) if (part.type === "tool-result") results.push(part.toolCallId);
  return { sent, calls, results };
}

/** As the SDK checks it: providers refuse a call without a result, with errors that say little. */
function assertAnswered(ai: AiSdkPackage, messages: readonly ConvertedMessage[]): void {
  const open = new Set<string>();
  const assertNone = () => {
    if (open.size > 0) throw new ai.MissingToolResultsError({ toolCallIds: [...open] });
  };
  for (const { sent, calls, results } of messages) {
    for (const id of calls) open.add(id);
    for (const id of results) open.delete(id);
    if (sent.role === "user" || sent.role === "system") assertNone();
  }
  assertNone();
}

/** Copies. The results of parallel calls are one message, as providers expect them. */
function joined(messages: readonly ConvertedMessage[]): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Prompt = [];
  for (const { sent } of messages) {
    const copy = copyOfMessage(sent);
    const before = prompt.at(-1);
    if (copy.role === "tool" && before?.role === "tool") before.content.push(...copy.content);
    else prompt.push(copy);
  }
  return prompt;
}

/** `copyOf` for the objects of which a prompt has hundreds: it takes a third of the time. */
function copyOfMessage(message: LanguageModelV4Message): LanguageModelV4Message {
  if (message.providerOptions !== undefined) return copyOf(message);
  switch (message.role) {
    case "system":
      return { ...message };
    case "user":
      return { role: "user", content: message.content.map(copyOfPart) };
    case "assistant":
      return { role: "assistant", content: message.content.map(copyOfPart) };
    case "tool":
      return { role: "tool", content: message.content.map(copyOfPart) };
  }
}

function copyOfPart<T extends UserPartV4 | AssistantPartV4 | ToolPartV4>(part: T): T {
  if ("providerOptions" in part) return copyOf(part);
  if (part.type === "text" || part.type === "reasoning") return { ...part };
  if (part.type === "tool-call") return { ...part, input: copyOf(part.input) };
  if (part.type !== "tool-result" || part.output.type === "content") return copyOf(part);
  const { output } = part;
  return {
    ...part,
    output: output.type === "json" ? { ...output, value: copyOf(output.value) } : { ...output },
  };
}

/** A copy of plain objects and lists, at any depth. Bytes, addresses and the like are shared. */
export function copyOf<T>(value: T): T {
  return (typeof value === "object" && value !== null ? copyOfObject(value) : value) as T;
}

function copyOfObject(value: object): object {
  if (Array.isArray(value)) return (value as readonly unknown[]).map((item) => copyOf(item));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  const copy: { [name: string]: unknown } = { ...value };
  for (const name of Object.keys(copy)) {
    const item = copy[name];
    if (typeof item === "object" && item !== null) copy[name] = copyOfObject(item);
  }
  return copy;
}

/** The message in the provider's format; null if it holds a part that is better left to the SDK. */
export function plainMessage(
  message: RequestMessage,
  toolNames: ReadonlySet<string>,
): LanguageModelV4Message | null {
  switch (message.role) {
    case "system":
      return isText(message.content) ? { role: "system", content: message.content } : null;
    case "user": {
      const { content } = message;
      if (isText(content)) return { role: "user", content: [{ type: "text", text: content }] };
      const parts = Array.isArray(content) ? allOf(content, userPart) : null;
      return parts === null ? null : { role: "user", content: parts };
    }
    case "assistant": {
      const content = allOf(message.content, (part) => plainPart(part, toolNames));
      return content === null ? null : { role: "assistant", content: content.filter(isSent) };
    }
    case "tool": {
      const content = allOf(message.content, (part) => plainResult(part, toolNames));
      return content === null ? null : { role: "tool", content };
    }
  }
}

/** Bytes are not copied: the provider encodes them as its API takes them. */
function userPart(part: UserTextPart | RequestFile): UserPartV4 | null {
  if (part.type === "text") return isText(part.text) ? { type: "text", text: part.text } : null;
  const { type, mediaType, filename, data } = part;
  if (type !== "file" || !isText(mediaType) || !(data instanceof Uint8Array)) return null;
  return {
    type: "file",
    mediaType,
    data: { type: "data", data },
    ...(filename === undefined ? {} : { filename }),
  };
}

function allOf<T, R>(items: readonly T[], convertItem: (item: T) => R | null): R[] | null {
  const converted: R[] = [];
  for (const item of items) {
    const one = convertItem(item);
    if (one === null) return null;
    converted.push(one);
  }
  return converted;
}

function plainPart(part: AssistantPart, toolNames: ReadonlySet<string>): AssistantPartV4 | null {
  const { type, text, toolCallId, toolName, input, providerOptions, ...others } = part;
  const options = plainOptions(providerOptions);
  if (options === null || Object.keys(others).length > 0) return null;
  if (type === "text" || type === "reasoning") return isText(text) ? { type, text, ...options } : null;
  if (!isToolCallPart(part) || !isText(toolCallId) || !isText(toolName) || input === undefined) return null;
  return {
    type: "tool-call",
    toolCallId,
    toolName: sendableName(toolName, toolNames),
    input: sendableInput(input),
    ...options,
  };
}

/** Providers refuse empty texts. */
function isSent(part: AssistantPartV4): boolean {
  return part.type !== "text" || part.text !== "" || part.providerOptions !== undefined;
}

function plainOptions(given: unknown): { providerOptions?: { [provider: string]: JsonObject } } | null {
  if (given === undefined) return {};
  if (!isObject(given) || !Object.values(given).every(isObject)) return null;
  return { providerOptions: given as { [provider: string]: JsonObject } };
}

function plainResult(
  { type, toolCallId, toolName, output, ...others }: ToolResultPart,
  toolNames: ReadonlySet<string>,
): ToolPartV4 | null {
  if (type !== "tool-result" || !isText(toolCallId) || !isText(toolName)) return null;
  if (Object.keys(others).length > 0 || output.type === "content") return null;
  const isPlain = output.type === "json" ? output.value !== undefined : isText(output.value);
  if (!isPlain || Object.keys(output).length > 2) return null;
  // The types of the SDK's JSON values are not readonly.
  const sent = output as Extract<ToolPartV4, { type: "tool-result" }>["output"];
  return { type, toolCallId, toolName: sendableName(toolName, toolNames), output: sent };
}

/** Stored texts and values come from JSON, so their types are checked and not believed. */
function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

async function convertedBySdk(
  { ai, model, extras, shared }: PromptMeans,
  message: RequestMessage,
  index: number,
  signal: AbortSignal,
): Promise<LanguageModelV4Message> {
  const checked = checkedMessage(ai, message, index, shared.toolNames);
  const { call } = await throughSdk(ai, model, {
    // The SDK refuses a conversation that ends in a call.
    messages: [checked, ...resultsFor(checked)],
    allowSystemInMessages: true,
    abortSignal: signal,
    ...(extras.download === undefined ? {} : { experimental_download: extras.download }),
  });
  const [converted] = call.prompt;
  if (converted === undefined) throw new Error(`message ${index + 1} (${message.role}) has nothing to send`);
  return converted;
}

function resultsFor(message: ModelMessage): ModelMessage[] {
  if (message.role !== "assistant" || typeof message.content === "string") return [];
  const calls = message.content.filter((part) => part.type === "tool-call");
  if (calls.length === 0) return [];
  const output = { type: "text", value: "" } as const;
  return [
    {
      role: "tool",
      content: calls.map(({ toolCallId, toolName }) => ({
        type: "tool-result",
        toolCallId,
        toolName,
        output,
      })),
    },
  ];
}
