import type { Blueprint, BlueprintServer, BlueprintStep } from "../../core/job/blueprint.ts";
import {
  type Environment,
  fillEnvironment,
  textsIn,
  variablesIn,
} from "../../core/job/blueprint-environment.ts";
import type { BlueprintModel } from "../../core/job/blueprint-model.ts";
import type { RunSpec } from "../../core/job/run-spec.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import { ownProperty } from "../../core/own-property.ts";
import type { ServerProgram } from "./job-programs.ts";

/** The access to machine and network that a job asks for, each item with its location in the file. */
export type JobAccess = {
  readonly programs: readonly JobProgram[];
  readonly variables: readonly JobVariable[];
  readonly addresses: readonly JobAddress[];
  /** Its allowed domains. */
  readonly domains: readonly string[];
  /** Tools with which a model chooses the address itself. */
  readonly openTools: readonly string[];
  readonly models: readonly { readonly where: string; readonly name: string }[];
  readonly workspace: string | null;
};

export type JobProgram = ServerProgram & { readonly where: string };

type JobVariable = { readonly where: string; readonly name: string; readonly use: "reads" | "sets" };

export type JobAddress = {
  readonly where: string;
  /** As written, for display: contains no values of variables. */
  readonly shown: string;
  /** As used; null if it is a single variable, whose value the operator has chosen, or if it is an argument. */
  readonly url: string | null;
  readonly isServer: boolean;
  /** The job marks it as possibly private: the owner of the name decides which address that is. */
  readonly isPrivate: boolean;
};

export function jobAccess(spec: RunSpec, env: Environment): JobAccess {
  const blueprint = typeof spec.pipeline === "object" ? spec.pipeline : null;
  return {
    ...(blueprint === null ? NOTHING : blueprintAccess(blueprint, env)),
    domains: spec.constraints.allowedDomains,
    workspace: spec.artifacts.workspaceDir,
  };
}

const NOTHING = { programs: [], variables: [], addresses: [], openTools: [], models: [] };

function blueprintAccess(
  { models = {}, mcpServers, tools, agents, steps }: Blueprint,
  env: Environment,
): Omit<JobAccess, "domains" | "workspace"> {
  const servers = Object.entries(mcpServers).map(([name, each]) => [`mcp_servers.${name}`, each] as const);
  const atAddress = Object.entries(models).map(([name, each]) => [`models.${name}`, each] as const);
  const settings = Object.entries(tools).map(([name, each]) => [`tools.${name}`, each] as const);
  const all = allSteps(steps);
  const named = [
    ...Object.values(agents).flatMap((agent) => agent.tools),
    ...all.flatMap((step) => ("tool" in step ? [step.tool] : [])),
  ];
  return {
    programs: servers.flatMap(([where, server]) => ("url" in server ? [] : [{ where, ...server }])),
    variables: [
      ...[...servers, ...atAddress, ...settings].flatMap(([where, part]) =>
        variablesIn(part as Json).map((name) => ({ where, name, use: "reads" as const })),
      ),
      ...servers.flatMap(([where, server]) => variablesSet(where, server)),
    ],
    addresses: [
      ...servers.flatMap(([where, server]) =>
        "url" in server
          ? addressOf(where, server.url, env, { isServer: true, isPrivate: server.private === true })
          : [],
      ),
      ...atAddress.flatMap(([where, { baseUrl, private: isPrivate = false }]) =>
        addressOf(where, baseUrl, env, { isServer: false, isPrivate }),
      ),
      ...settings.flatMap(([where, each]) => addressesIn(where, each, env)),
      // The hosts of a tool are checked when it is called.
      ...all
        .flatMap((step) => ("tool" in step ? addressesIn(`steps.${step.name}`, step.with, {}) : []))
        .map((address) => ({ ...address, url: null, isPrivate: false })),
    ],
    openTools: OPEN_TOOLS.filter((name) => named.includes(name)),
    models: Object.entries(agents).map(([name, { model }]) => ({
      where: `agents.${name}`,
      name: shownModel(model, ownProperty(models, model)),
    })),
  };
}

/** A model at an address counts as one of the provider `openai-compatible`, whatever its name in the file. */
function shownModel(name: string, atAddress: BlueprintModel | undefined): string {
  return atAddress === undefined ? name : `openai-compatible/${atAddress.model}`;
}

const OPEN_TOOLS: readonly string[] = ["fetch_page", "http_request"];

/** Variables can change what a program does: NODE_OPTIONS loads code. */
function variablesSet(where: string, server: BlueprintServer): readonly JobVariable[] {
  if ("url" in server) return [];
  return Object.keys(server.env).map((name) => ({ where, name, use: "sets" as const }));
}

function allSteps(steps: readonly BlueprintStep[]): readonly BlueprintStep[] {
  return steps.flatMap((step) => ("loop" in step ? [step, ...allSteps(step.loop)] : [step]));
}

/** All addresses in the settings of any tool: values, keys, and a host with its port. */
function addressesIn(where: string, settings: JsonObject, env: Environment): readonly JobAddress[] {
  const texts = textsIn(settings).map(([, text]) => text);
  return [...texts, ...keysIn(settings), ...hostsIn(settings)].flatMap((text) =>
    addressOf(where, text, env, { isServer: false, isPrivate: settings.private === true }),
  );
}

function keysIn(value: Json): readonly string[] {
  if (Array.isArray(value)) return (value as readonly Json[]).flatMap(keysIn);
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, each]) => [key, ...keysIn(each)]);
}

function hostsIn({ host, port }: JsonObject): readonly string[] {
  if (typeof host !== "string") return [];
  const name = host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
  return [`smtp://${name}${typeof port === "number" ? `:${port}` : ""}`];
}

const ADDRESS = /^[a-z][a-z0-9+.-]*:[\\/]{2}/i;

function addressOf(
  where: string,
  text: string,
  env: Environment,
  kind: Pick<JobAddress, "isServer" | "isPrivate">,
): readonly JobAddress[] {
  const { value } = fillEnvironment(text, env);
  if (!kind.isServer && !ADDRESS.test(value.trim())) return [];
  // The private mark is set by the job, even if the operator has chosen the name.
  if (/^\$\{\w+\}$/.test(text) && !kind.isPrivate) return [{ where, shown: text, url: null, ...kind }];
  return [{ where, shown: hostOf(text), url: value, ...kind }];
}

/** The host of a URL; as written if it contains a variable. */
function hostOf(text: string): string {
  const host = URL.parse(text)?.host ?? "";
  if (host !== "" && !text.includes("${")) return host;
  return text
    .trim()
    .replace(ADDRESS, "")
    .replace(/[/?#\\].*$/s, "")
    .replace(/^.*@/s, "");
}
