import { dirname, isAbsolute, relative, resolve, sep } from "node:path";
import { checkAnswer } from "../adapters/foreign-schema.ts";
import { type McpServer, mcpTools } from "../adapters/mcp.ts";
import { secretTexts } from "../adapters/tools/hiding-secrets.ts";
import type { Blueprint, BlueprintServer } from "../core/blueprint.ts";
import { type Environment, fillEnvironment } from "../core/blueprint-environment.ts";
import { ConfigurationError } from "../core/errors.ts";
import type { Json } from "../core/json.ts";
import { ownProperty } from "../core/own-property.ts";
import { secret } from "../core/secret.ts";
import { buildPipeline } from "../engine/blueprint.ts";
import type { PipelineStep } from "../engine/step.ts";
import type { ToolSource } from "../engine/tool-source.ts";
import { findModels, type PackagePlace } from "./blueprint-models.ts";
import { hidingSource } from "./blueprint-secrets.ts";
import { findTool } from "./blueprint-tools.ts";
import type { CliContext } from "./cli-context.ts";
import { type LoadedConfig, projectFolder } from "./config-file.ts";
import { projectTop } from "./config-search.ts";

type Surroundings = Pick<CliContext, "cwd" | "env">;

/**
 * The blueprint as it is kept: folders in a job file are meant from that file, and a run that goes on may not have it. So they
 * are written from the folder that the run belongs to; an absolute one stays as it is.
 */
export function keepFolders(
  surroundings: Surroundings,
  loaded: LoadedConfig,
  jobFile: string,
  blueprint: Blueprint,
): Blueprint {
  const project = projectFolder(surroundings, loaded);
  const keep = (server: BlueprintServer): BlueprintServer => {
    if ("url" in server || (server.cwd !== null && isAbsolute(server.cwd))) return server;
    const folder = relative(project, resolve(dirname(jobFile), server.cwd ?? "."));
    return { ...server, cwd: folder === "" ? null : folder.split(sep).join("/") };
  };
  const mcpServers = Object.entries(blueprint.mcpServers).map(([name, server]) => [name, keep(server)]);
  return { ...blueprint, mcpServers: Object.fromEntries(mcpServers) as Blueprint["mcpServers"] };
}

/** The pipeline of a blueprint with the models, tools and servers that it names. Nothing of it is started yet. */
export async function pipelineOf(
  surroundings: Surroundings,
  loaded: LoadedConfig,
  blueprint: Blueprint,
): Promise<PipelineStep> {
  const { env } = surroundings;
  const project = projectFolder(surroundings, loaded);
  const { tools = {}, models: configured = {} } = loaded.config;
  assertEnvironment(blueprint, env);
  const names = Object.values(blueprint.agents).map(({ model }) => model);
  const models = await findModels(names, configured, await packagesOf(loaded, env));
  const settings = withSecrets(blueprint.tools, env);
  return buildPipeline(blueprint, {
    model: (name) => {
      const model = models.get(name);
      if (model === undefined) throw new Error(`There is no model ${name}.`);
      return model;
    },
    tool: (name) => findTool(name, tools, settings),
    source: (name) => {
      const server = ownProperty(blueprint.mcpServers, name);
      if (server === undefined) throw new Error(`There is no MCP server ${name}.`);
      return sourceOf(name, server, env, project);
    },
    check: checkAnswer,
  });
}

async function packagesOf({ path }: LoadedConfig, env: Environment): Promise<PackagePlace | null> {
  if (path === null) return null;
  const folder = dirname(path);
  return { folder, top: (await projectTop({ cwd: folder, env })) ?? folder };
}

/** All at once, and by name only. */
function assertEnvironment({ name, mcpServers, tools }: Blueprint, env: Environment): void {
  const parts = [
    ...Object.entries(mcpServers).map(([key, part]) => [`mcp_servers.${key}`, part] as const),
    ...Object.entries(tools).map(([key, part]) => [`tools.${key}`, part] as const),
  ];
  const missing = parts.flatMap(([where, part]) =>
    fillEnvironment(part as Json, env).missing.map((variable) => `${variable} (${where})`),
  );
  if (missing.length === 0) return;
  throw new ConfigurationError(
    `${missing.length === 1 ? "A variable of the environment that" : "Variables of the environment that"} pipeline ${name} needs ${missing.length === 1 ? "is" : "are"} not set: ${missing.join(", ")}. Nothing was started; set ${missing.length === 1 ? "it" : "them"} and try again.`,
  );
}

/** The settings of tools, with a secret for each text that has a variable in it: its tool keeps it to itself. */
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

function sourceOf(name: string, server: BlueprintServer, env: Environment, project: string): ToolSource {
  const { value, used } = fillEnvironment(server as Json, env);
  // Filling texts in does not change what else it is.
  const source = mcpTools({ name, ...serverOf(value as BlueprintServer, project) });
  return hidingSource(source, secretTexts(used));
}

function serverOf(server: BlueprintServer, project: string): McpServer {
  if ("url" in server) return server;
  const { command, cwd } = server;
  const folder = resolve(project, cwd ?? ".");
  const isPath = /[/\\]/.test(command) && !isAbsolute(command);
  return { ...server, cwd: folder, command: isPath ? resolve(folder, command) : command };
}
