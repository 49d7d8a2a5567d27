// A scripted model that is called without the AI SDK. Loading the package `ai` takes a third of the start of a crash test
// worker, and most of these tests are about what happens around the model, not about how it is called.

import type {
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
} from "@ai-sdk/provider";
import { modelCallFailed } from "../../src/adapters/ai-sdk/ai-sdk-failure.ts";
import type { Json } from "../../src/core/json.ts";
import {
  type AssistantPart,
  isTextPart,
  isToolCallPart,
  type ToolResultPart,
  type UserTextPart,
} from "../../src/core/message.ts";
import type {
  ModelPort,
  ModelRequest,
  ModelResponse,
  ModelTool,
  RequestFile,
  RequestMessage,
} from "../../src/engine/ports/model-port.ts";
import { type Script, scriptedModel } from "../../src/testing/scripted-model.ts";

/** Equivalent to `aiSdkModel(scriptedModel(…))`: the same prompt, the same parts, the same errors. */
export function scriptedPort(script: Script, options?: Parameters<typeof scriptedModel>[1]): ModelPort {
  const model = scriptedModel(script, options);
  const { provider, modelId } = model;
  return {
    provider,
    modelId,
    respond: async (request) => {
      const { signal, tools } = request;
      let began = false;
      try {
        signal.throwIfAborted();
        began = true;
        const answer = model.doGenerate({ prompt: promptOf(request), abortSignal: signal });
        return await responseOf(await unlessAborted(answer, signal), tools);
      } catch (error) {
        throw modelCallFailed(`${provider}/${modelId}`, error, { began, network: "unseen", signal });
      }
    },
  };
}

/** A script may ignore the signal. */
function unlessAborted<T>(answer: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  answer.then(resolve, reject);
  return promise;
}

function promptOf({ instructions, messages }: ModelRequest): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Prompt =
    instructions === "" ? [] : [{ role: "system", content: instructions }];
  for (const message of messages.map(promptMessage)) {
    const last = prompt.at(-1);
    // All results of one answer are one message.
    if (message.role === "tool" && last?.role === "tool") last.content.push(...message.content);
    else prompt.push(message);
  }
  return prompt;
}

type UserPartV4 = Extract<LanguageModelV4Message, { role: "user" }>["content"][number];

function promptFile(part: UserTextPart | RequestFile): UserPartV4 {
  if (part.type === "text") return { ...part };
  const { type, mediaType, filename, data } = part;
  const name = filename === undefined ? {} : { filename };
  return { type, mediaType, data: { type: "data", data }, ...name };
}

function promptMessage(message: RequestMessage): LanguageModelV4Message {
  switch (message.role) {
    case "system": // in place of messages that were left out
      return message;
    case "user":
      return {
        role: "user",
        content:
          typeof message.content === "string"
            ? [{ type: "text", text: message.content }]
            : message.content.map(promptFile),
      };
    case "assistant":
      return { role: "assistant", content: message.content.map(promptPart) };
    case "tool":
      return { role: "tool", content: message.content.map(promptResult) };
  }
}

function promptResult({ output, ...part }: ToolResultPart) {
  if (output.type === "content") throw notScripted(output);
  return { ...part, output };
}

function promptPart(part: AssistantPart) {
  if (isTextPart(part) || isToolCallPart(part)) return part;
  throw notScripted(part);
}

async function responseOf(
  { content, finishReason, usage }: LanguageModelV4GenerateResult,
  tools: readonly ModelTool[],
): Promise<ModelResponse> {
  const { total: inputTokens } = usage.inputTokens;
  const { total: outputTokens } = usage.outputTokens;
  const parts = await Promise.all(content.map((part) => readPart(part, tools)));
  return {
    content: parts.map(({ stored }) => stored),
    finishReason: finishReason.unified,
    usage:
      inputTokens === undefined || outputTokens === undefined
        ? null
        : { inputTokens, outputTokens, cachedInputTokens: 0, reasoningTokens: 0 },
    invalidCalls: Object.fromEntries(parts.flatMap(({ invalid }) => (invalid === null ? [] : [invalid]))),
    responseId: null,
  };
}

type ReadPart = {
  readonly stored: AssistantPart;
  /** The id of a call that cannot run, and the error for the model. */
  readonly invalid: readonly [toolCallId: string, why: string] | null;
};

async function readPart(part: LanguageModelV4Content, tools: readonly ModelTool[]): Promise<ReadPart> {
  if (part.type === "text") return { stored: { type: "text", text: part.text }, invalid: null };
  if (part.type !== "tool-call") throw notScripted(part);
  const { type, toolCallId, toolName } = part;
  const input = JSON.parse(part.input) as Json;
  const tool = tools.find(({ name }) => name === toolName);
  const validated = tool === undefined ? noTool(toolName, tools) : await tool.validate(input);
  return validated.ok
    ? { stored: { type, toolCallId, toolName, input: validated.value }, invalid: null }
    : { stored: { type, toolCallId, toolName, input }, invalid: [toolCallId, validated.error] };
}

function noTool(name: string, tools: readonly ModelTool[]) {
  const names = tools.map((tool) => tool.name).join(", ");
  return { ok: false, error: `There is no tool "${name}". The tools are: ${names}.` } as const;
}

function notScripted({ type }: { readonly type: string }): Error {
  return new Error(`A scripted model does not support content of type ${type}.`);
}
