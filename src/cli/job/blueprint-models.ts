import { pathToFileURL } from "node:url";
import { aiSdkModel } from "../../adapters/ai-sdk/ai-sdk.ts";
import { ConfigurationError } from "../../core/errors.ts";
import { nearestName } from "../../core/job/run-spec-spelling.ts";
import { ownProperty } from "../../core/own-property.ts";
import type { ConfiguredModel } from "../../engine/definition/config.ts";
import type { ModelPort } from "../../engine/ports/model-port.ts";
import { importQuietly } from "../config/config-import.ts";
import { findPackage, type PackagePlace } from "./provider-package.ts";

/** What the AI SDK's providers make. */
type LanguageModel = Parameters<typeof aiSdkModel>[0];

type Models = { readonly [name: string]: ConfiguredModel };

/** What a provider's package calls the function that makes its models, where that is not the provider's name. */
const MAKERS: { readonly [provider: string]: string } = {
  "amazon-bedrock": "bedrock",
  "google-vertex": "vertex",
};

const PROVIDERS =
  "openai anthropic google google-vertex amazon-bedrock azure mistral xai groq deepseek cohere perplexity togetherai fireworks cerebras deepinfra vercel gateway".split(
    " ",
  );

/**
 * The models that a job names, by those names: of the configuration, or else of the provider's package, which is looked for
 * beside the configuration (null where there is none) and beside Pawl. A package is code, so none is taken from where a job file
 * happens to lie. All that cannot be had are told at once.
 */
export async function findModels(
  names: readonly string[],
  configured: Models,
  packages: PackagePlace | null,
): Promise<ReadonlyMap<string, ModelPort>> {
  const found = await Promise.allSettled(
    [...new Set(names)].map(async (name) => [name, await findModel(name, configured, packages)] as const),
  );
  const problems = found.flatMap((each) => (each.status === "rejected" ? [messageOf(each.reason)] : []));
  if (problems.length > 0) throw new ConfigurationError(problems.join(" "));
  return new Map(found.flatMap((each) => (each.status === "fulfilled" ? [each.value] : [])));
}

/** What nobody expected is not made a sentence of. */
function messageOf(problem: unknown): string {
  if (ConfigurationError.isInstance(problem)) return problem.message;
  throw problem instanceof Error ? problem : new Error(String(problem));
}

async function findModel(
  name: string,
  configured: Models,
  packages: PackagePlace | null,
): Promise<ModelPort> {
  const own = ownProperty(configured, name);
  if (own !== undefined) return "respond" in own ? own : aiSdkModel(own as LanguageModel);
  const [, provider, modelId] = /^([a-z][a-z0-9-]*)\/(.+)$/.exec(name) ?? [];
  if (provider === undefined || modelId === undefined) throw noSuchModel(name, Object.keys(configured));
  const make = await makerOf(name, provider, packages);
  return aiSdkModel(make(modelId));
}

function noSuchModel(name: string, names: readonly string[]): ConfigurationError {
  const near = nearestName(name, names);
  const meant =
    near === null
      ? "write provider/model, such as openai/gpt-5.2, or give it in `models` of pawl.config.ts."
      : `did you mean ${near}?`;
  return new ConfigurationError(`There is no model ${JSON.stringify(name)}: ${meant}`);
}

async function makerOf(
  name: string,
  provider: string,
  packages: PackagePlace | null,
): Promise<(modelId: string) => LanguageModel> {
  const packageName = `@ai-sdk/${provider}`;
  const found = findPackage(packageName, packages);
  if (found.path === null) throw notInstalled(name, provider, packageName, found.refusals);
  const exported = await importQuietly(pathToFileURL(found.path).href);
  const maker = ownProperty(MAKERS, provider) ?? provider;
  const made = freshProvider(exported, [maker, provider]) ?? exported[maker];
  if (typeof made === "function") return made as (modelId: string) => LanguageModel;
  throw new ConfigurationError(
    `The package ${packageName} does not make models by name: give ${name} in \`models\` of pawl.config.ts.`,
  );
}

/**
 * One made now (`createOpenAI()` and its like): the ready-made one of a package keeps what it has once read of the
 * environment, its address for one, for as long as the process lives.
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
  const near = PROVIDERS.includes(provider) ? null : nearestName(provider, PROVIDERS);
  return new ConfigurationError(
    near === null
      ? `Model ${name} needs the package ${packageName}, which is neither beside pawl.config.ts nor beside Pawl: run \`npm install ai@7 ${packageName}\` there.`
      : `There is no provider ${JSON.stringify(provider)} for model ${name}: did you mean ${near}/${name.slice(provider.length + 1)}?`,
  );
}
