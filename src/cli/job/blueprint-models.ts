import { pathToFileURL } from "node:url";
import { aiSdkModel } from "../../adapters/ai-sdk/ai-sdk.ts";
import { ConfigurationError } from "../../core/errors.ts";
import type { Environment } from "../../core/job/blueprint-environment.ts";
import type { BlueprintModel } from "../../core/job/blueprint-model.ts";
import { nearestName } from "../../core/naming/nearest-name.ts";
import { ownProperty } from "../../core/own-property.ts";
import type { ConfiguredModel } from "../../engine/definition/config.ts";
import type { ModelPort } from "../../engine/ports/model-port.ts";
import { importQuietly } from "../config/config-import.ts";
import { addressedModel } from "./addressed-model.ts";
import { findPackage, type PackageSearch } from "./provider-package.ts";

/** A model of an AI SDK provider. */
type LanguageModel = Parameters<typeof aiSdkModel>[0];

/** The models that a job file defines by their addresses, and the environment that they refer to. */
type AddressedModels = {
  readonly models: { readonly [name: string]: BlueprintModel };
  readonly env: Environment;
};

type Models = { readonly [name: string]: ConfiguredModel };

/** The export of a provider's package that creates models, if it is not the provider's name. */
const FACTORY_NAMES: { readonly [provider: string]: string } = {
  "amazon-bedrock": "bedrock",
  "google-vertex": "vertex",
};

const PROVIDERS =
  "openai anthropic google google-vertex amazon-bedrock azure mistral xai groq deepseek cohere perplexity togetherai fireworks cerebras deepinfra vercel gateway".split(
    " ",
  );

/**
 * The models that a job names: from the configuration, or else from the provider's package, which is searched beside the
 * configuration (null if there is none) and beside Pawl. A package is code, so none is loaded from the folder of a job file.
 * All missing models are reported at once.
 */
export async function findModels(
  names: readonly string[],
  configured: Models,
  packages: PackageSearch | null,
  job: AddressedModels = { models: {}, env: {} },
): Promise<ReadonlyMap<string, ModelPort>> {
  const found = await Promise.allSettled(
    [...new Set(names)].map(async (name) => {
      const written = ownProperty(job.models, name);
      const model = await (written === undefined
        ? findModel(name, configured, packages, Object.keys(job.models))
        : addressedModel(name, written, job.env, packages));
      return [name, model] as const;
    }),
  );
  const problems = found.flatMap((each) => (each.status === "rejected" ? [messageOf(each.reason)] : []));
  if (problems.length > 0) throw new ConfigurationError(problems.join(" "));
  return new Map(found.flatMap((each) => (each.status === "fulfilled" ? [each.value] : [])));
}

/** Rethrows unexpected errors instead of turning them into a message. */
function messageOf(problem: unknown): string {
  if (ConfigurationError.isInstance(problem)) return problem.message;
  throw problem instanceof Error ? problem : new Error(String(problem));
}

async function findModel(
  name: string,
  configured: Models,
  packages: PackageSearch | null,
  atAddress: readonly string[],
): Promise<ModelPort> {
  const own = ownProperty(configured, name);
  if (own !== undefined) return "respond" in own ? own : aiSdkModel(own as LanguageModel);
  const [, provider, modelId] = /^([a-z][a-z0-9-]*)\/(.+)$/.exec(name) ?? [];
  if (provider === undefined || modelId === undefined)
    throw noSuchModel(name, [...Object.keys(configured), ...atAddress]);
  if (provider === "openai-compatible")
    throw new ConfigurationError(
      `Model ${name} has no address: define it in the job file, \`models: { local: { base_url: "http://127.0.0.1:11434/v1", model: ${JSON.stringify(modelId)} } }\` under pipeline, and write \`model: local\`.`,
    );
  const make = await factoryOf(name, provider, packages);
  return aiSdkModel(make(modelId));
}

const DEFINE_IT =
  "define it with its address (base_url) under `models` of the pipeline, or in `models` of pawl.config.ts";

function noSuchModel(name: string, names: readonly string[]): ConfigurationError {
  const near = nearestName(name, names);
  const meant =
    near === null
      ? `write provider/model, such as openai/gpt-5.2, or ${DEFINE_IT}.`
      : `did you mean ${near}?`;
  return new ConfigurationError(`There is no model ${JSON.stringify(name)}: ${meant}`);
}

async function factoryOf(
  name: string,
  provider: string,
  packages: PackageSearch | null,
): Promise<(modelId: string) => LanguageModel> {
  const packageName = `@ai-sdk/${provider}`;
  const found = findPackage(packageName, packages);
  if (found.path === null) throw notInstalled(name, provider, packageName, found.refusals);
  const exported = await importQuietly(pathToFileURL(found.path).href);
  const factory = ownProperty(FACTORY_NAMES, provider) ?? provider;
  const made = freshProvider(exported, [factory, provider]) ?? exported[factory];
  if (typeof made === "function") return made as (modelId: string) => LanguageModel;
  throw new ConfigurationError(
    `The package ${packageName} does not create models by name: add ${name} to \`models\` in pawl.config.ts.`,
  );
}

/**
 * A provider created now, with `createOpenAI()` or the like: the ready-made one of a package keeps the environment it once
 * read, such as its address, for the life of the process.
 */
function freshProvider(exported: { readonly [name: string]: unknown }, names: readonly string[]): unknown {
  const starts = names.map((name) => `create${name.replaceAll("-", "")}`);
  const found = Object.entries(exported).find(([name]) =>
    starts.some((start) => name.toLowerCase().startsWith(start)),
  );
  return typeof found?.[1] === "function" ? (found[1] as () => unknown)() : undefined;
}

function notInstalled(
  name: string,
  provider: string,
  packageName: string,
  refusals: readonly string[],
): ConfigurationError {
  if (refusals.length > 0)
    return new ConfigurationError(
      `Model ${name} needs the package ${packageName}, and ${refusals.join("; ")}. Install it as yourself: run \`npm install ai@7 ${packageName}\` beside pawl.config.ts.`,
    );
  const isKnown = PROVIDERS.includes(provider);
  const near = isKnown ? null : nearestName(provider, PROVIDERS);
  if (!isKnown && near === null)
    return new ConfigurationError(
      `There is no provider ${JSON.stringify(provider)} for model ${name}, nor a package ${packageName}: use one of ${PROVIDERS.join(", ")}; for a model on a server of your own, ${DEFINE_IT}.`,
    );
  return new ConfigurationError(
    near === null
      ? `Model ${name} needs the package ${packageName}, which is installed neither beside pawl.config.ts nor beside Pawl: run \`npm install ai@7 ${packageName}\` there.`
      : `There is no provider ${JSON.stringify(provider)} for model ${name}: did you mean ${near}/${name.slice(provider.length + 1)}?`,
  );
}
