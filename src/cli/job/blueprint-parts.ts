import { dirname, isAbsolute, relative, resolve, sep } from "node:path";
import { type McpServer, mcpTools } from "../../adapters/mcp/mcp.ts";
import { checkAnswer } from "../../adapters/net/foreign-schema.ts";
import { secretTexts } from "../../adapters/net/hiding-secrets.ts";
import { ConfigurationError } from "../../core/errors.ts";
import type { Blueprint, BlueprintServer } from "../../core/job/blueprint.ts";
import { type Environment, fillEnvironment } from "../../core/job/blueprint-environment.ts";
import type { Json } from "../../core/json.ts";
import { secret } from "../../core/secret/secret.ts";
import type { PipelineStep } from "../../engine/definition/step.ts";
import type { ToolSource } from "../../engine/definition/tool-source.ts";
import { buildPipeline } from "../../engine/steps/blueprint/blueprint-pipeline.ts";
import { type LoadedConfig, projectFolder } from "../config/config-file.ts";
import { projectTop } from "../config/config-search.ts";
import type { CliEnvironment } from "../context/cli-context.ts";
import { findModels } from "./blueprint-models.ts";
import { hidingSource } from "./blueprint-secrets.ts";
import { findTool } from "./job-file-tools.ts";
import { allowedProgram, type ProgramCheck, type ServerProgram } from "./job-programs.ts";
import type { PackageSearch } from "./provider-package.ts";

/**
 * The blueprint as it is stored. Folders in a job file are relative to that file, which may be gone when the run resumes, so they are
 * rewritten relative to the project folder; absolute ones stay as they are.
 */
export function keepFolders(
  cli: CliEnvironment,
  loaded: LoadedConfig,
  jobFile: string,
  blueprint: Blueprint,
): Blueprint {
  const project = projectFolder(cli, loaded);
  const keep = (server: BlueprintServer): BlueprintServer => {
    if ("url" in server || server.cwd === null || isAbsolute(server.cwd)) return server;
    const folder = relative(project, resolve(dirname(jobFile), server.cwd));
    return { ...server, cwd: folder === "" ? null : folder.split(sep).join("/") };
  };
  const mcpServers = Object.entries(blueprint.mcpServers).map(([name, server]) => [name, keep(server)]);
  return { ...blueprint, mcpServers: Object.fromEntries(mcpServers) as Blueprint["mcpServers"] };
}

/** The pipeline of a blueprint with its models, tools and servers. Nothing is started yet. */
export async function pipelineOf(
  cli: CliEnvironment,
  loaded: LoadedConfig,
  blueprint: Blueprint,
): Promise<PipelineStep> {
  const { env } = cli;
  const project = projectFolder(cli, loaded);
  const { tools = {}, models: configured = {}, jobs = {} } = loaded.config;
  assertEnvironment(blueprint, env);
  const names = Object.values(blueprint.agents).map(({ model }) => model);
  const job = { models: blueprint.models ?? {}, env };
  const models = await findModels(names, configured, await packagesOf(loaded, env), job);
  const settings = withSecrets(blueprint.tools, env);
  const sources = new Map<string, ToolSource>();
  for (const [name, server] of Object.entries(blueprint.mcpServers))
    sources.set(
      name,
      await sourceOf(name, server, env, (program) => allowedProgram(jobs, project, program, env)),
    );
  return buildPipeline(blueprint, {
    model: (name) => {
      const model = models.get(name);
      if (model === undefined) throw new Error(`There is no model ${name}.`);
      return model;
    },
    tool: (name) => findTool(name, tools, settings),
    source: (name) => {
      const source = sources.get(name);
      if (source === undefined) throw new Error(`There is no MCP server ${name}.`);
      return source;
    },
    check: checkAnswer,
  });
}

async function packagesOf({ path }: LoadedConfig, env: Environment): Promise<PackageSearch | null> {
  if (path === null) return null;
  const folder = dirname(path);
  return { config: path, top: (await projectTop({ cwd: folder, env })) ?? folder };
}

/** Reports all missing variables at once, by name only. */
function assertEnvironment({ name, models = {}, mcpServers, tools }: Blueprint, env: Environment): void {
  const parts = [
    ...Object.entries(models).map(([key, part]) => [`models.${key}`, part] as const),
    ...Object.entries(mcpServers).map(([key, part]) => [`mcp_servers.${key}`, part] as const),
    ...Object.entries(tools).map(([key, part]) => [`tools.${key}`, part] as const),
  ];
  const missing = parts.flatMap(([where, part]) =>
    fillEnvironment(part as Json, env).missing.map((variable) => `${variable} (${where})`),
  );
  if (missing.length === 0) return;
  throw new ConfigurationError(
    `${missing.length === 1 ? "An environment variable that" : "Environment variables that"} pipeline ${name} needs ${missing.length === 1 ? "is" : "are"} not set: ${missing.join(", ")}. Nothing was started; set ${missing.length === 1 ? "it" : "them"} and try again.`,
  );
}

/** The tool settings, with a secret in place of each string that contains a variable: its tool keeps it to itself. */
function withSecrets(tools: Blueprint["tools"], env: Environment): { readonly [name: string]: object } {
  const hidden = (value: Json): unknown => {
    if (typeof value === "string") {
      const { value: text, used } = fillEnvironment(value, env);
      return used.length === 0 ? text : secret(text);
    }
    if (Array.isArray(value)) return (value as readonly Json[]).map(hidden);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, hidden(each)]));
  };
  return Object.fromEntries(Object.entries(tools).map(([name, each]) => [name, hidden(each) as object]));
}

async function sourceOf(
  name: string,
  server: BlueprintServer,
  env: Environment,
  start: (program: ServerProgram) => Promise<ProgramCheck>,
): Promise<ToolSource> {
  const { used } = fillEnvironment(server, env);
  const opened = "url" in server ? fillEnvironment(server, env).value : started(name, await start(server));
  return hidingSource(mcpTools({ name, ...opened }), secretTexts(used));
}

/** The ceiling was already checked; this is the last check before a program is started. */
function started(name: string, check: ProgramCheck): McpServer {
  if (check.ok) return check.program;
  throw new ConfigurationError(`MCP server ${name} starts a program, ${check.why}.`);
}
