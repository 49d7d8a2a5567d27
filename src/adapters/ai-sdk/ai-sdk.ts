import type { LanguageModel } from "ai";
import { ConfigurationError } from "../../core/errors.ts";
import type { ModelPort } from "../../engine/ports/model-port.ts";
import type { ModelExtras } from "./ai-sdk-call-options.ts";
import { type AiSdkPackage, loadAiSdk } from "./ai-sdk-package.ts";
import type { AiSdkRequests, ModelObject } from "./ai-sdk-request.ts";

export { aiSdkToolSchema } from "./ai-sdk-tool-schema.ts";

/**
 * Any AI SDK 7 model, as an object or as a gateway id. One `respond` is one request to the provider: a
 * streamed one with a listener, and a whole one without. The SDK's loop, retries and telemetry have no part in it, since the
 * engine has its own.
 *
 * @example
 * const model = aiSdkModel(openai("gpt-5"));
 * const viaGateway = aiSdkModel("anthropic/claude-sonnet-4.5");
 */
export function aiSdkModel(model: LanguageModel, extras: ModelExtras = {}): ModelPort {
  if (typeof model !== "string") {
    assertSupported(model);
    return modelPort(model.provider, model.modelId, () => model, extras);
  }
  // Resolved now and not at each call: provider and model are part of a run's fingerprint.
  const ofDefaultProvider = globalThis.AI_SDK_DEFAULT_PROVIDER?.languageModel(model);
  if (ofDefaultProvider !== undefined) return aiSdkModel(ofDefaultProvider, extras);
  return modelPort("gateway", model, (ai) => ai.gateway.languageModel(model), extras);
}

/** Loaded with the package that they are made for: a program that only defines agents needs neither. */
const loadRequests = () => import("./ai-sdk-request.ts");

function modelPort(
  provider: string,
  modelId: string,
  modelOf: (ai: AiSdkPackage) => ModelObject,
  extras: ModelExtras,
): ModelPort {
  const name = `${provider}/${modelId}`;
  let requests: AiSdkRequests | undefined;
  return {
    provider,
    modelId,
    streams: true,
    load: async () => {
      await Promise.all([loadAiSdk(), loadRequests()]);
    },
    respond: async (request, live) => {
      if (requests === undefined) {
        const [ai, loaded] = await Promise.all([loadAiSdk(), loadRequests()]);
        requests ??= new loaded.AiSdkRequests(name, ai, modelOf(ai), extras);
      }
      return requests.ask(request, live ?? null);
    },
  };
}

/** The SDK's wrapper would treat older models as newer ones, and they would fail later in some other way. */
function assertSupported(model: ModelObject): void {
  const version: string = model.specificationVersion;
  if (["v2", "v3", "v4"].includes(version)) return;
  throw new ConfigurationError(
    `The model ${model.provider}/${model.modelId} implements version "${version}" of the AI SDK's model interface: install a provider package for AI SDK 7.`,
    { provider: model.provider, modelId: model.modelId },
  );
}
