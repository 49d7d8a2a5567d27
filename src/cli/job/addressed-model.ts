import { pathToFileURL } from "node:url";
import { aiSdkModel } from "../../adapters/ai-sdk/ai-sdk.ts";
import { type GuardedFetch, guardedFetch } from "../../adapters/net/guarded-fetch.ts";
import { hostNetwork } from "../../adapters/net/host-network.ts";
import { ConfigurationError } from "../../core/errors.ts";
import { type Environment, fillEnvironment } from "../../core/job/blueprint-environment.ts";
import type { BlueprintModel } from "../../core/job/blueprint-model.ts";
import type { ModelPort } from "../../engine/ports/model-port.ts";
import { importQuietly } from "../config/config-import.ts";
import { findPackage, type PackageSearch } from "./provider-package.ts";

const PACKAGE = "@ai-sdk/openai-compatible";

/** The settings of `createOpenAICompatible` that are used here. */
type CompatibleSettings = {
  readonly name: string;
  readonly baseURL: string;
  readonly apiKey?: string;
  readonly headers: { readonly [name: string]: string };
  readonly supportsStructuredOutputs: boolean;
  readonly fetch: GuardedFetch;
};

type CreateProvider = (settings: CompatibleSettings) => (modelId: string) => Parameters<typeof aiSdkModel>[0];

/** A model that a job file defines by its address. Requests reach only that host and port. */
export async function addressedModel(
  name: string,
  written: BlueprintModel,
  env: Environment,
  packages: PackageSearch | null,
): Promise<ModelPort> {
  const { path } = findPackage(PACKAGE, packages);
  if (path === null)
    throw new ConfigurationError(
      `Model ${name} has an address and needs the package ${PACKAGE}, which is installed neither beside pawl.config.ts nor beside Pawl: run \`npm install ai@7 ${PACKAGE}\` there.`,
    );
  const { createOpenAICompatible: create } = await importQuietly(pathToFileURL(path).href);
  if (typeof create !== "function")
    throw new ConfigurationError(`${PACKAGE} has no createOpenAICompatible: install a version for AI SDK 7.`);
  const { value } = fillEnvironment(written, env);
  const { baseUrl, model, apiKey, headers, private: isPrivate } = value;
  if (!/^https?:$/.test(URL.parse(baseUrl)?.protocol ?? ""))
    throw new ConfigurationError(
      `The base_url of model ${name} is not an address with its variables filled in: it must begin with http:// or https://.`,
    );
  const provider = (create as CreateProvider)({
    name: "openai-compatible",
    baseURL: baseUrl,
    ...(apiKey === null ? {} : { apiKey }),
    headers,
    // A server that does not support them ignores the schema, and the answer is checked anyway.
    supportsStructuredOutputs: true,
    fetch: guardedFetch({ signal: new AbortController().signal, network: hostNetwork(baseUrl, isPrivate) }),
  });
  return aiSdkModel(provider(model));
}
