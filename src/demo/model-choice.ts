import { aiSdkModel } from "../adapters/ai-sdk/ai-sdk.ts";
import { ConfigurationError } from "../core/errors.ts";
import type { Environment } from "../core/job/blueprint-environment.ts";
import type { ModelPort } from "../engine/ports/model-port.ts";
import type { JobModels } from "./job-agents.ts";
import { scriptedResearcher } from "./scripted-researcher.ts";

export type ModelChoice =
  | { readonly provider: "openai" | "anthropic"; readonly modelId: string; readonly key: string }
  | { readonly provider: "scripted" };

/** The model of the job: that of a provider whose key is set, else the script. */
export function chooseModel(environment: Environment): ModelChoice {
  const { PAWL_DEMO_MODEL: modelId } = environment;
  for (const [provider, key, usual] of [
    ["openai", "OPENAI_API_KEY", "gpt-5.2"],
    ["anthropic", "ANTHROPIC_API_KEY", "claude-sonnet-4-5"],
  ] as const) {
    if (environment[key]) return { provider, modelId: modelId ?? usual, key };
  }
  return { provider: "scripted" };
}

export async function loadModels(environment: Environment): Promise<JobModels> {
  const choice = chooseModel(environment);
  if (choice.provider === "scripted") return scriptedResearcher();
  const model = await loadModel(choice);
  return { planner: model, crawler: model, writer: model };
}

/** Key and base URL are read from the environment by the providers' own packages. */
async function loadModel({
  provider,
  modelId,
  key,
}: Exclude<ModelChoice, { provider: "scripted" }>): Promise<ModelPort> {
  try {
    if (provider === "openai") return aiSdkModel((await import("@ai-sdk/openai")).openai(modelId));
    return aiSdkModel((await import("@ai-sdk/anthropic")).anthropic(modelId));
  } catch (error) {
    throw new ConfigurationError(
      `${key} is set, but @ai-sdk/${provider} cannot be loaded: install it together with ai, or unset ${key} to use the scripted model.`,
      {},
      { cause: error },
    );
  }
}
