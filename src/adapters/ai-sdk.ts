import type { generateText, LanguageModel, Output, ToolSet } from "ai";
import { ConfigurationError } from "../core/errors.ts";
import { isJsonObject, type JsonObject } from "../core/json.ts";
import type { ModelPort, ModelRequest, ModelResponse, ModelSettings, ModelTool } from "../engine/ports.ts";
import { exchangeMiddleware, newExchange } from "./ai-sdk-exchange.ts";
import { emptyAnswer, modelCallFailed } from "./ai-sdk-failure.ts";
import { modelMessages } from "./ai-sdk-messages.ts";
import { type AiSdkPackage, loadAiSdk } from "./ai-sdk-package.ts";
import { contentOf, invalidCallsOf, isEmptyAnswer, usageOf } from "./ai-sdk-response.ts";
import { watchNetwork } from "./network-attempt.ts";

export { aiSdkToolSchema } from "./ai-sdk-tool-schema.ts";

type ModelObject = Exclude<LanguageModel, string>;
type CallOptions = Parameters<typeof generateText>[0];

/**
 * Any model of the AI SDK 7, as an object or as a gateway id. One `respond` is one request of the provider: no loop,
 * no retries and no telemetry of the SDK, since the engine has its own of each.
 *
 * @example
 * const model = aiSdkModel(openai("gpt-5"));
 * const viaGateway = aiSdkModel("anthropic/claude-sonnet-4.5");
 */
export function aiSdkModel(model: LanguageModel): ModelPort {
  if (typeof model !== "string") {
    assertSupported(model);
    return modelPort(model.provider, model.modelId, () => model);
  }
  // Resolved now rather than at each call: provider and model are part of a run's fingerprint.
  const ofDefaultProvider = globalThis.AI_SDK_DEFAULT_PROVIDER?.languageModel(model);
  if (ofDefaultProvider !== undefined) return aiSdkModel(ofDefaultProvider);
  return modelPort("gateway", model, (ai) => ai.gateway.languageModel(model));
}

function modelPort(provider: string, modelId: string, modelOf: (ai: AiSdkPackage) => ModelObject): ModelPort {
  const name = `${provider}/${modelId}`;
  return {
    provider,
    modelId,
    respond: async (request) => {
      const ai = await loadAiSdk();
      const response = await ask(name, ai, modelOf, request);
      if (isEmptyAnswer(response.content)) throw emptyAnswer(name, response);
      return response;
    },
  };
}

/** Older models are taken for newer ones by the SDK's wrapper and fail later, in some other way. */
function assertSupported(model: ModelObject): void {
  const version: string = model.specificationVersion;
  if (["v2", "v3", "v4"].includes(version)) return;
  throw new ConfigurationError(
    `The model ${model.provider}/${model.modelId} implements version "${version}" of the AI SDK's model interface: install a provider package for AI SDK 7.`,
    { provider: model.provider, modelId: model.modelId },
  );
}

function ask(
  name: string,
  ai: AiSdkPackage,
  modelOf: (ai: AiSdkPackage) => ModelObject,
  request: ModelRequest,
): Promise<ModelResponse> {
  const exchange = newExchange();
  return watchNetwork(async (network) => {
    try {
      const middleware = exchangeMiddleware(exchange, request.signal);
      const model = ai.wrapLanguageModel({ model: modelOf(ai), middleware });
      const result = await ai.generateText({ model, ...callOptions(ai, request) });
      return {
        content: contentOf(result.responseMessages, result.toolCalls),
        finishReason: result.finishReason,
        usage: usageOf(result.usage),
        invalidCalls: invalidCallsOf(result.toolCalls, request.tools),
        responseId: exchange.responseId,
      };
    } catch (error) {
      const { began, failure } = exchange;
      const progress = { began, network: network.progress, signal: request.signal };
      throw modelCallFailed(name, failure === null ? error : failure.error, progress);
    }
  });
}

function callOptions(ai: AiSdkPackage, request: ModelRequest) {
  const toolNames = new Set(request.tools.map((tool) => tool.name));
  return {
    // Some providers refuse an empty system message.
    ...(request.instructions === "" ? {} : { instructions: request.instructions }),
    messages: modelMessages(ai, request.messages, toolNames),
    ...(request.tools.length === 0 ? {} : { tools: toolSet(ai, request.tools) }),
    ...(request.outputSchema === null ? {} : { output: unvalidatedOutput(request.outputSchema) }),
    ...settingsOf(request.settings),
    stopWhen: ai.isStepCount(1),
    maxRetries: 0,
    telemetry: { isEnabled: false },
  } satisfies Omit<CallOptions, "model">;
}

/** Without `execute`, so that the SDK runs nothing: only the gateway does. */
function toolSet(ai: AiSdkPackage, tools: readonly ModelTool[]): ToolSet {
  return Object.fromEntries(
    tools.map((tool) => [
      tool.name,
      ai.tool({
        description: tool.description,
        inputSchema: ai.jsonSchema(tool.inputSchema, {
          validate: async (value) => {
            const validated = await tool.validate(value);
            return validated.ok
              ? { success: true, value: validated.value }
              : { success: false, error: new Error(validated.error) };
          },
        }),
      }),
    ]),
  );
}

/** Asks for JSON and takes whatever comes: `Output.object` would throw away a paid answer that does not fit. */
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

function settingsOf({ stopSequences, reasoning, providerOptions, ...plain }: ModelSettings) {
  return {
    ...plain,
    ...(stopSequences === undefined ? {} : { stopSequences: [...stopSequences] }),
    ...(reasoning === undefined ? {} : { reasoning: reasoningOf(reasoning) }),
    ...(providerOptions === undefined ? {} : { providerOptions: providerOptionsOf(providerOptions) }),
  };
}

function reasoningOf(reasoning: string): (typeof REASONING)[number] {
  const known = REASONING.find((level) => level === reasoning);
  if (known !== undefined) return known;
  throw new Error(`the setting reasoning is "${reasoning}"; it has to be one of ${REASONING.join(", ")}`);
}

function providerOptionsOf(options: JsonObject): { [provider: string]: JsonObject } {
  return Object.fromEntries(
    Object.entries(options).map(([provider, value]) => {
      if (isJsonObject(value)) return [provider, value];
      throw new Error(`the setting providerOptions.${provider} is not an object`);
    }),
  );
}
