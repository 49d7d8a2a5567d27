import { readdir } from "node:fs/promises";
import { relative, resolve, sep } from "node:path";
import { RUN_MARK } from "../../core/artifact-name.ts";
import { fitsPattern } from "../../core/call/action-pattern.ts";
import { ConfigurationError } from "../../core/errors.ts";
import type { Environment } from "../../core/job/blueprint-environment.ts";
import { placeOfRun, type RunSpec } from "../../core/job/run-spec.ts";
import { checkUrl, isWithinDomains, opensPrivate } from "../../core/network-policy.ts";
import type { JobCeiling } from "../../engine/definition/job-ceiling.ts";
import { isBelow } from "../../store/guarded-folder.ts";
import { type LoadedConfig, projectFolder } from "../config/config-file.ts";
import { realPlace } from "../config/real-place.ts";
import type { Surroundings } from "../context/cli-context.ts";
import { startedProgram } from "./job-programs.ts";
import { type JobAddress, type JobProgram, type JobWants, wantsOf } from "./job-wants.ts";

/** Where a job is run, and what it may have there. */
type Place = {
  readonly ceiling: JobCeiling;
  /** The folder that its run belongs to. */
  readonly project: string;
  readonly env: Environment;
  readonly loaded: LoadedConfig;
  readonly runId: string | null;
  /** Every tool may reach them, so a job may as well. */
  readonly allowPrivate: boolean;
};

/**
 * Refuses a job that asks for more than `jobs` of the configuration lets job files have. All that is too much is told at once, and
 * nothing of the job was started. What a run has kept of a job is looked at again whenever a command works on it. Gives what it asks for.
 */
export async function assertWithinCeiling(
  surroundings: Surroundings,
  loaded: LoadedConfig,
  spec: RunSpec,
  runId: string | null = null,
): Promise<JobWants> {
  const project = projectFolder(surroundings, loaded);
  const { jobs = {}, policy } = loaded.config;
  const allowPrivate = policy?.allowPrivateAddresses === true;
  const { env } = surroundings;
  const place: Place = { ceiling: jobs, project, env, loaded, runId, allowPrivate };
  const wants = wantsOf(spec, env);
  const problems = [
    ...(await Promise.all(wants.programs.map((program) => programProblems(place, program)))).flat(),
    ...variableProblems(place, wants),
    ...wants.addresses.flatMap((address) => addressProblems(place, address)),
    ...domainProblems(place, wants),
    ...modelProblems(place, wants),
    ...(wants.workspace === null ? [] : await workspaceProblems(place, wants.workspace)),
  ];
  if (problems.length === 0) return wants;
  throw new ConfigurationError(
    `The job asks for what job files may not have here: ${problems.join("; ")}. Whoever runs it decides: allow it under \`jobs\` in ${loaded.path === null ? "a pawl.config.ts of this project" : "pawl.config.ts"}, or change the job.`,
  );
}

async function programProblems(
  { ceiling, project, env }: Place,
  program: JobProgram,
): Promise<readonly string[]> {
  const { where, command, args } = program;
  const verdict = await startedProgram(ceiling, project, program, env);
  return verdict.ok
    ? []
    : [`${where} starts ${JSON.stringify([command, ...args].join(" "))}, ${verdict.why}`];
}

function variableProblems({ ceiling }: Place, { variables }: JobWants): readonly string[] {
  const isListed = (name: string) => (ceiling.environment ?? []).some((entry) => fitsPattern(entry, name));
  const problems = variables
    .filter(({ name }) => !isListed(name))
    .map(({ where, name, use }) => `${where} ${use} ${name}, which jobs.environment does not list`);
  return [...new Set(problems)];
}

function addressProblems(
  { ceiling, allowPrivate }: Place,
  { where, shown, url, isServer, isPrivate }: JobAddress,
): readonly string[] {
  if (url === null) return [];
  if (isServer && ceiling.servers !== undefined)
    return ceiling.servers.some((entry) => isAtAddress(url, entry))
      ? []
      : [`${where} connects to ${shown}, which jobs.servers does not list`];
  if (!mayReach(ceiling.domains, url, allowPrivate))
    return [`${where} connects to ${shown}, which ${notListed(ceiling.domains)}`];
  if (!isPrivate || allowPrivate || isListed(ceiling.domains ?? [], url, "!private")) return [];
  const other = isServer ? ", nor jobs.servers its address" : "";
  return [`${where} is private: true, and jobs.domains does not list ${shown}!private${other}`];
}

function notListed(domains: readonly string[] | undefined): string {
  return domains === undefined
    ? "is no public host, and jobs.domains does not list it"
    : "jobs.domains does not list";
}

function isAtAddress(url: string, entry: string): boolean {
  const [given, listed] = [URL.parse(url), URL.parse(entry)];
  if (given === null || listed === null || given.origin !== listed.origin) return false;
  const folder = listed.pathname.endsWith("/") ? listed.pathname : `${listed.pathname}/`;
  return given.pathname === listed.pathname || given.pathname.startsWith(folder);
}

/** Without a list every public host, on any port. */
function mayReach(domains: readonly string[] | undefined, url: string, allowPrivate: boolean): boolean {
  const host = URL.parse(url.trim())?.hostname ?? "";
  if (host === "") return false;
  if (domains === undefined) return allowPrivate || isPublicHost(host);
  return isListed(domains, url, "");
}

/** An entry without a port is for those of the web; where mail is sent, for those of mail. */
function isListed(domains: readonly string[], url: string, mark: "" | "!private"): boolean {
  const { protocol = "", hostname = "", port = "" } = URL.parse(url.trim()) ?? {};
  const { usual, others } = PORTS[protocol] ?? { usual: "443", others: [] };
  const places = [`${hostname}:${port === "" ? usual : port}`];
  if (others.includes(port)) places.push(hostname);
  return places.some((place) => isWithinDomains(`${place}${mark}`, domains));
}

const MAIL_PORTS = ["", "25", "465", "587", "2525"];

const PORTS: { readonly [protocol: string]: { readonly usual: string; readonly others: readonly string[] } } =
  {
    "http:": { usual: "80", others: [] },
    "smtp:": { usual: "587", others: MAIL_PORTS },
    "smtps:": { usual: "465", others: MAIL_PORTS },
  };

function isPublicHost(host: string): boolean {
  return checkUrl({ allowedDomains: [], allowPrivateAddresses: false }, `https://${host}`).ok;
}

function domainProblems({ ceiling, allowPrivate }: Place, { domains }: JobWants): readonly string[] {
  const { domains: listed } = ceiling;
  const isAllowed = (entry: string) => {
    if (listed === undefined) return allowPrivate || !opensPrivate(entry);
    return listed.includes(entry) || (listed.length > 0 && isWithinDomains(entry, listed));
  };
  return domains
    .filter((entry) => !isAllowed(entry))
    .map((entry) => `constraints.allowed_domains has ${JSON.stringify(entry)}, which ${notListed(listed)}`);
}

/** Those that the configuration offers by name are there to be used. */
function modelProblems({ ceiling, loaded }: Place, { models }: JobWants): readonly string[] {
  const { models: listed } = ceiling;
  if (listed === undefined) return [];
  const offered = Object.keys(loaded.config.models ?? {});
  return models
    .filter(({ name }) => !offered.includes(name) && !listed.some((entry) => fitsPattern(entry, name)))
    .map(({ where, name }) => `${where} asks model ${JSON.stringify(name)}, which jobs.models does not list`);
}

/**
 * Where tools write. Unless the operator has said where, that is a folder of the run's own inside of the project: in one that has
 * files already, or among packages or in a hidden folder, what a model writes would be run or obeyed by somebody.
 */
async function workspaceProblems(place: Place, workspace: string): Promise<readonly string[]> {
  const { ceiling, project, loaded, runId } = place;
  const runs = resolve(project, loaded.config.workspaceRoot ?? ".");
  const folder = resolve(runs, placeOfRun(workspace, runId ?? "the-run"));
  const roots =
    ceiling.workspaceRoot === undefined ? [project, runs] : [resolve(project, ceiling.workspaceRoot)];
  const real = await realPlace(folder);
  const said = `artifacts.workspace_dir is ${JSON.stringify(workspace)}`;
  // Behind a link, `..` is another folder than it looks.
  if (workspace.split(/[/\\]/).includes("..")) return [`${said}, and may have no ".." in it`];
  for (const root of roots) {
    const top = await realPlace(root);
    if (real === null || top === null || !isBelow(top, real)) continue;
    if (ceiling.workspaceRoot !== undefined) return [];
    const names = relative(top, real).split(sep);
    if (names.some((name) => name.startsWith(".") || name.toLowerCase() === "node_modules"))
      return [`${said}, which is a hidden folder or one of packages`];
    return (await isFree(real))
      ? []
      : [`${said}, where files are that no run has made (jobs.workspaceRoot allows such a folder)`];
  }
  return [
    `${said}, which is outside of ${[...new Set(roots)].join(" and ")} (jobs.workspaceRoot says where it may be)`,
  ];
}

async function isFree(folder: string): Promise<boolean> {
  const names: readonly string[] = await readdir(folder).catch(() => []);
  return names.length === 0 || names.includes(RUN_MARK);
}
