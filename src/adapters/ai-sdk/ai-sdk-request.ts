// One request to a model of the AI SDK.

import type { Tool as AiSdkTool, generateText, LanguageModel, Output, SystemModelMessage, ToolSet } from "ai";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import { usageOf } from "../../core/usage/usage.ts";
import type { ModelRequest, ModelResponse, ModelTool } from "../../engine/ports/model-port.ts";
import { watchNetwork } from "../net/network-attempt.ts";
import { exchangeMiddleware, newExchange } from "./ai-sdk-exchange.ts";
import { emptyAnswer, excessiveAnswer, modelCallFailed } from "./ai-sdk-failure.ts";
import { modelMessages } from "./ai-sdk-messages.ts";
import type { AiSdkPackage } from "./ai-sdk-package.ts";
import { contentOf, invalidCallsOf, isEmptyAnswer, reportedUsage } from "./ai-sdk-response.ts";
import type { AiSdkSettings, LoopSettings } from "./ai-sdk-settings.ts";
import { takesSystemMessages, withoutSystemMessages } from "./ai-sdk-system-messages.ts";
import { isProviderExecuted } from "./ai-sdk-tool.ts";
import type { ModelToolInput } from "./ai-sdk-tool-schema.ts";

export type ModelObject = Exclude<LanguageModel, string>;
type CallOptions = Parameters<typeof generateText>[0];

/** Parts of every request that are not JSON, or must not be stored. */
export type ModelExtras = {
  /** Tools that the provider defines, by their names in a request. */
  readonly providerTools?: { readonly [name: string]: AiSdkTool };
  readonly headers?: LoopSettings["headers"] | undefined;
  readonly download?: LoopSettings["experimental_download"];
};

/** What all requests to one model share. */
export type RequestMeans = {
  readonly ai: AiSdkPackage;
  readonly modelOf: (ai: AiSdkPackage) => ModelObject;
  readonly extras: ModelExtras;
};

/** Makes one request. `name` is that of the model, for errors. */
export async function ask(name: string, means: RequestMeans, request: ModelRequest): Promise<ModelResponse> {
  const { response, excess } = await exchangeOnce(name, means, request);
  if (excess !== null) throw excessiveAnswer(name, excess, response);
  if (isEmptyAnswer(response.content)) throw emptyAnswer(name, response);
  return response;
}

function exchangeOnce(
  name: string,
  { ai, modelOf, extras }: RequestMeans,
  request: ModelRequest,
): Promise<{ readonly response: ModelResponse; readonly excess: string | null }> {
  const exchange = newExchange();
  return watchNetwork(async (network) => {
    try {
      const { toolChoice }: AiSdkSettings = request.settings;
      const middleware = exchangeMiddleware(exchange, request.signal, toolChoice);
      const model = ai.wrapLanguageModel({ model: modelOf(ai), middleware });
      const sent = takesSystemMessages(model, request.instructions)
        ? request
        : { ...request, messages: withoutSystemMessages(request.messages) };
      const result = await ai.generateText({ model, ...callOptions(ai, sent, extras) });
      const content = contentOf(result.responseMessages, result.toolCalls);
      const { excess, cutCallId, responseId } = exchange;
      const response: ModelResponse = {
        content,
        finishReason: result.finishReason,
        usage: usageOf(reportedUsage(result.usage), { hasContent: content.length > 0 || excess !== null }),
        invalidCalls: invalidCallsOf(result.toolCalls, request.tools, cutCallId),
        responseId,
      };
      return { response, excess };
    } catch (error) {
      const { began, failure } = exchange;
      const progress = { began, network: network.progress, signal: request.signal };
      throw modelCallFailed(name, failure === null ? error : failure.error, progress);
    }
  });
}

function callOptions(ai: AiSdkPackage, request: ModelRequest, extras: ModelExtras) {
  const toolNames = new Set(request.tools.map((tool) => tool.name));
  const {
    toolOptions = {},
    instructionOptions,
    toolChoice: _,
    ...settings
  }: AiSdkSettings = request.settings;
  const { headers, download, providerTools = {} } = extras;
  return {
    // Some providers refuse an empty system message.
    ...(request.instructions === ""
      ? {}
      : { instructions: systemMessage(request.instructions, instructionOptions) }),
    messages: modelMessages(ai, request.messages, toolNames),
    // Pawl's own: they replace messages that were left out.
    allowSystemInMessages: true,
    ...(request.tools.length === 0 ? {} : { tools: toolSet(ai, request.tools, toolOptions, providerTools) }),
    ...(request.outputSchema === null ? {} : { output: unvalidatedOutput(request.outputSchema) }),
    ...settingsOf(settings),
    ...(headers === undefined ? {} : { headers }),
    ...(download === undefined ? {} : { experimental_download: download }),
    stopWhen: ai.isStepCount(1),
    maxRetries: 0,
    telemetry: { isEnabled: false },
  } satisfies Omit<CallOptions, "model">;
}

function systemMessage(content: string, options: JsonObject | undefined): string | SystemModelMessage {
  if (options === undefined) return content;
  return { role: "system", content, providerOptions: providerOptionsOf(options, "instructionOptions") };
}

/** Without `execute`, so that the SDK runs no tool: only Pawl's gateway does. */
function toolSet(
  ai: AiSdkPackage,
  tools: readonly ModelTool[],
  toolOptions: NonNullable<AiSdkSettings["toolOptions"]>,
  providerTools: NonNullable<ModelExtras["providerTools"]>,
): ToolSet {
  const sent = ({ name, description, ...tool }: ModelTool): AiSdkTool => {
    const ofProvider = Object.hasOwn(providerTools, name) ? providerTools[name] : undefined;
    if (ofProvider !== undefined) return providerToolOf(ai, tool, ofProvider);
    const options = Object.hasOwn(toolOptions, name) ? toolOptions[name] : {};
    return { ...options, description, inputSchema: schemaOf(ai, tool) };
  };
  return Object.fromEntries(tools.map((tool) => [tool.name, sent(tool)]));
}

/** Sent as its provider defines it. Arguments of a provider-executed tool are not validated. */
function providerToolOf(ai: AiSdkPackage, tool: ModelToolInput, ofProvider: AiSdkTool): AiSdkTool {
  const { execute: _, ...rest } = ofProvider;
  return isProviderExecuted(ofProvider)
    ? { ...rest, inputSchema: ai.jsonSchema({}) }
    : { ...rest, inputSchema: schemaOf(ai, tool) };
}

function schemaOf(ai: AiSdkPackage, tool: ModelToolInput) {
  return ai.jsonSchema(tool.inputSchema, {
    validate: async (value) => {
      const validated = await tool.validate(value);
      return validated.ok
        ? { success: true, value: validated.value }
        : { success: false, error: new Error(validated.error) };
    },
  });
}

/** Asks for JSON and accepts any answer: `Output.object` would throw away a paid answer that does not fit. */
function unvalidatedOutput(schema: JsonObject): Output.Output<string, string, never> {
  return {
    name: "unvalidated",
    responseFormat: Promise.resolve({ type: "json", schema }),
    parseCompleteOutput: async ({ text }) => text,
    parsePartialOutput: async () => undefined,
    createElementStreamTransform: () => undefined,
  };
}

const REASONING = ["provider-default", "none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

function settingsOf({ stopSequences, reasoning, providerOptions, ...plain }: AiSdkSettings) {
  return {
    ...plain,
    ...(stopSequences === undefined ? {} : { stopSequences: [...stopSequences] }),
    ...(reasoning === undefined ? {} : { reasoning: reasoningOf(reasoning) }),
    ...(providerOptions === undefined
      ? {}
      : { providerOptions: providerOptionsOf(providerOptions, "providerOptions") }),
  };
}

function reasoningOf(reasoning: string): (typeof REASONING)[number] {
  const known = REASONING.find((level) => level === reasoning);
  if (known !== undefined) return known;
  throw new Error(`the setting reasoning is "${reasoning}"; it must be one of ${REASONING.join(", ")}`);
}

function providerOptionsOf(options: JsonObject, setting: string): { [provider: string]: JsonObject } {
  return Object.fromEntries(
    Object.entries(options).map(([provider, value]) => {
      if (isJsonObject(value)) return [provider, value];
      throw new Error(`the setting ${setting}.${provider} is not an object`);
    }),
  );
}
