import type { z } from "zod";
import { aiSdkTool } from "../../adapters/ai-sdk/ai-sdk-tool.ts";
import { BUILT_IN_TOOLS, builtInToolSettings, builtInTools } from "../../adapters/tools/index.ts";
import { settingNames } from "../../adapters/tools/settings.ts";
import { ConfigurationError } from "../../core/errors.ts";
import { type Environment, fillEnvironment } from "../../core/job/blueprint-environment.ts";
import type { KnownTools, SpecProblem } from "../../core/job/run-spec.ts";
import type { JsonObject } from "../../core/json.ts";
import { nearestName } from "../../core/naming/nearest-name.ts";
import type { ConfiguredTool, PawlConfig } from "../../engine/definition/config.ts";
import { isTool, type Tool } from "../../engine/definition/tool.ts";

/** The tools that a job file may name without a server: those of the configuration and the built-in ones. */
export async function jobFileTools(config: PawlConfig, environment: Environment): Promise<KnownTools> {
  const { tools: configured = {} } = config;
  const schemas = await argumentSchemas(configured);
  return {
    argumentSchema: (tool) => schemas.get(tool) ?? null,
    names: [...new Set([...Object.keys(configured), ...Object.keys(BUILT_IN_TOOLS)])],
    settingsProblems: (tool, settings) =>
      Object.hasOwn(configured, tool)
        ? configuredToolProblems(settings)
        : settingsProblems(schemaOf(tool), settings, environment),
  };
}

/** Settings for tools that need some; their input schemas do not depend on the values. */
const PLACEHOLDER_SETTINGS = {
  send_mail: { url: "smtp://localhost", from: "reports@localhost" },
  notify: { url: "http://localhost" },
};

async function argumentSchemas(
  configured: NonNullable<PawlConfig["tools"]>,
): Promise<ReadonlyMap<string, JsonObject>> {
  const builtIn: { readonly [name: string]: Tool } = builtInTools(PLACEHOLDER_SETTINGS);
  const own = Object.keys(configured).map((name) => [name, findTool(name, configured, {})] as const);
  const schemas = [...Object.entries(builtIn), ...own].map(async ([name, tool]) => {
    // A schema that cannot be read is reported when the tool is used.
    const schema = await (async () => tool.input.jsonSchema())().catch(() => null);
    return schema === null ? [] : [[name, schema] as const];
  });
  return new Map((await Promise.all(schemas)).flat());
}

function configuredToolProblems(settings: JsonObject): readonly SpecProblem[] {
  if (Object.keys(settings).length === 0) return [];
  return [{ path: [], message: "is a tool of pawl.config.ts, where its settings are: leave it out." }];
}

function schemaOf(tool: string): z.ZodType | null {
  const schemas: { readonly [name: string]: z.ZodType } = builtInToolSettings;
  return Object.hasOwn(schemas, tool) ? (schemas[tool] ?? null) : null;
}

/** With unset variables, which are reported elsewhere, only the shape of the settings can be checked. */
function settingsProblems(
  schema: z.ZodType | null,
  settings: JsonObject,
  environment: Environment,
): readonly SpecProblem[] {
  const { value, missing } = fillEnvironment(settings, environment);
  const { error } = schema?.safeParse(value) ?? {};
  return (error?.issues ?? [])
    .filter(({ code }) => missing.length === 0 || code === "unrecognized_keys" || code === "invalid_type")
    .flatMap((issue) => problemOf(issue, schema));
}

function problemOf(issue: z.core.$ZodIssue, schema: z.ZodType | null): readonly SpecProblem[] {
  const path = issue.path.map((segment) => (typeof segment === "number" ? segment : String(segment)));
  if (issue.code !== "unrecognized_keys")
    return [{ path, message: `cannot be used: ${issue.message.replace(/\.$/, "")}.` }];
  const names = settingNames(schema);
  return issue.keys.map((key) => {
    const near = nearestName(key, names);
    const meant =
      near !== null
        ? `did you mean ${near}?`
        : names.length === 0
          ? "it has none."
          : `there are ${names.join(", ")}.`;
    return { path: [...path, key], message: `is not a setting of this tool: ${meant}` };
  });
}

/** A tool by its name. `settings` are those of the built-in tools, with environment variables filled in. */
export function findTool(
  name: string,
  configured: { readonly [name: string]: ConfiguredTool },
  settings: { readonly [name: string]: object },
): Tool {
  const own = Object.hasOwn(configured, name) ? configured[name] : undefined;
  if (own !== undefined) return isTool(own) ? own : aiSdkTool(name, own as Parameters<typeof aiSdkTool>[1]);
  const builtIn: { readonly [name: string]: Tool | undefined } = builtInTools(
    Object.hasOwn(settings, name) ? { [name]: settings[name] } : {},
  );
  const found = Object.hasOwn(builtIn, name) ? builtIn[name] : undefined;
  if (found !== undefined) return found;
  const needed = Object.hasOwn(BUILT_IN_TOOLS, name)
    ? "add its settings to pipeline.tools."
    : "it was in `tools` of pawl.config.ts when the job was written.";
  throw new ConfigurationError(`There is no tool ${JSON.stringify(name)}: ${needed}`);
}
