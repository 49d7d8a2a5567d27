import type { Blueprint, BlueprintServer, BlueprintStep } from "../../core/job/blueprint.ts";
import {
  type Environment,
  fillEnvironment,
  textsIn,
  variablesIn,
} from "../../core/job/blueprint-environment.ts";
import type { RunSpec } from "../../core/job/run-spec.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import type { ServerProgram } from "./job-programs.ts";

/** What a job asks for of the machine and the network that it runs in. Each with the place in the file that says so. */
export type JobWants = {
  readonly programs: readonly JobProgram[];
  readonly variables: readonly JobVariable[];
  readonly addresses: readonly JobAddress[];
  /** Its allowed domains. */
  readonly domains: readonly string[];
  /** The tools by which a model chooses what is requested. */
  readonly openTools: readonly string[];
  readonly models: readonly { readonly where: string; readonly name: string }[];
  readonly workspace: string | null;
};

export type JobProgram = ServerProgram & { readonly where: string };

export type JobVariable = { readonly where: string; readonly name: string; readonly use: "reads" | "sets" };

export type JobAddress = {
  readonly where: string;
  /** As it is written, for people: no value of a variable is in it. */
  readonly shown: string;
  /** As it is used; null where all of it is one variable, so that whoever set that has chosen it, or where it is an argument. */
  readonly url: string | null;
  readonly isServer: boolean;
  /** Its name may have a private address, says the job: whoever owns the name decides which. */
  readonly isPrivate: boolean;
};

export function wantsOf(spec: RunSpec, env: Environment): JobWants {
  const blueprint = typeof spec.pipeline === "object" ? spec.pipeline : null;
  return {
    ...(blueprint === null ? NOTHING : wantsOfBlueprint(blueprint, env)),
    domains: spec.constraints.allowedDomains,
    workspace: spec.artifacts.workspaceDir,
  };
}

const NOTHING = { programs: [], variables: [], addresses: [], openTools: [], models: [] };

function wantsOfBlueprint(
  { mcpServers, tools, agents, steps }: Blueprint,
  env: Environment,
): Omit<JobWants, "domains" | "workspace"> {
  const servers = Object.entries(mcpServers).map(([name, each]) => [`mcp_servers.${name}`, each] as const);
  const settings = Object.entries(tools).map(([name, each]) => [`tools.${name}`, each] as const);
  const all = allSteps(steps);
  const named = [
    ...Object.values(agents).flatMap((agent) => agent.tools),
    ...all.flatMap((step) => ("tool" in step ? [step.tool] : [])),
  ];
  return {
    programs: servers.flatMap(([where, server]) => ("url" in server ? [] : [{ where, ...server }])),
    variables: [
      ...[...servers, ...settings].flatMap(([where, part]) =>
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
      ...settings.flatMap(([where, each]) => addressesIn(where, each, env)),
      // What a tool may reach is decided when it is called.
      ...all
        .flatMap((step) => ("tool" in step ? addressesIn(`steps.${step.name}`, step.with, {}) : []))
        .map((address) => ({ ...address, url: null, isPrivate: false })),
    ],
    openTools: OPEN_TOOLS.filter((name) => named.includes(name)),
    models: Object.entries(agents).map(([name, { model }]) => ({ where: `agents.${name}`, name: model })),
  };
}

const OPEN_TOOLS: readonly string[] = ["fetch_page", "http_request"];

/** What a program is given can decide what it does: NODE_OPTIONS loads code. */
function variablesSet(where: string, server: BlueprintServer): readonly JobVariable[] {
  if ("url" in server) return [];
  return Object.keys(server.env).map((name) => ({ where, name, use: "sets" as const }));
}

function allSteps(steps: readonly BlueprintStep[]): readonly BlueprintStep[] {
  return steps.flatMap((step) => ("loop" in step ? [step, ...allSteps(step.loop)] : [step]));
}

/** Whatever is an address in the settings of a tool, whichever tool that is: values, keys, and a host with its port. */
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
  // The mark is the job's own, whoever has chosen the name.
  if (/^\$\{\w+\}$/.test(text) && !kind.isPrivate) return [{ where, shown: text, url: null, ...kind }];
  return [{ where, shown: hostOf(text), url: value, ...kind }];
}

/** The host as a URL has it; where a variable is part of it, as it is written. */
function hostOf(text: string): string {
  const host = URL.parse(text)?.host ?? "";
  if (host !== "" && !text.includes("${")) return host;
  return text
    .trim()
    .replace(ADDRESS, "")
    .replace(/[/?#\\].*$/s, "")
    .replace(/^.*@/s, "");
}
