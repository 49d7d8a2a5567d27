import { readdir } from "node:fs/promises";
import { relative, resolve, sep } from "node:path";
import { RUN_MARK } from "../../core/artifact-name.ts";
import { fitsPattern } from "../../core/call/action-pattern.ts";
import { ConfigurationError } from "../../core/errors.ts";
import type { Environment } from "../../core/job/blueprint-environment.ts";
import { type RunSpec, runDirectory } from "../../core/job/run-spec.ts";
import { checkUrl, isWithinDomains, opensPrivate } from "../../core/network-policy.ts";
import type { JobCeiling } from "../../engine/definition/job-ceiling.ts";
import { isBelow, realPath } from "../../store/guarded-folder.ts";
import { type LoadedConfig, projectFolder } from "../config/config-file.ts";
import type { CliEnvironment } from "../context/cli-context.ts";
import { type JobAccess, type JobAddress, type JobProgram, jobAccess } from "./job-access.ts";
import { allowedProgram } from "./job-programs.ts";

/** Where a job runs, and what it may access there. */
type JobContext = {
  readonly ceiling: JobCeiling;
  /** The project folder of its run. */
  readonly project: string;
  readonly env: Environment;
  readonly loaded: LoadedConfig;
  readonly runId: string | null;
  /** Private addresses are allowed for every tool, and so for a job. */
  readonly allowPrivate: boolean;
};

/**
 * Refuses a job that asks for more access than `jobs` of the configuration allows. Everything that exceeds it is reported at once, and
 * nothing is started. The stored job of a run is checked again by every command that works on the run. Returns the requested access.
 */
export async function assertWithinCeiling(
  cli: CliEnvironment,
  loaded: LoadedConfig,
  spec: RunSpec,
  runId: string | null = null,
): Promise<JobAccess> {
  const project = projectFolder(cli, loaded);
  const { jobs = {}, policy } = loaded.config;
  const allowPrivate = policy?.allowPrivateAddresses === true;
  const { env } = cli;
  const job: JobContext = { ceiling: jobs, project, env, loaded, runId, allowPrivate };
  const access = jobAccess(spec, env);
  const problems = [
    ...(await Promise.all(access.programs.map((program) => programProblems(job, program)))).flat(),
    ...variableProblems(job, access),
    ...access.addresses.flatMap((address) => addressProblems(job, address)),
    ...domainProblems(job, access),
    ...modelProblems(job, access),
    ...(access.workspace === null ? [] : await workspaceProblems(job, access.workspace)),
  ];
  if (problems.length === 0) return access;
  throw new ConfigurationError(
    `The job asks for more than job files may access here: ${problems.join("; ")}. To allow it, extend \`jobs\` in ${loaded.path === null ? "a pawl.config.ts of this project" : "pawl.config.ts"}; or change the job.`,
  );
}

async function programProblems(
  { ceiling, project, env }: JobContext,
  program: JobProgram,
): Promise<readonly string[]> {
  const { where, command, args } = program;
  const check = await allowedProgram(ceiling, project, program, env);
  return check.ok ? [] : [`${where} starts ${JSON.stringify([command, ...args].join(" "))}, ${check.why}`];
}

function variableProblems({ ceiling }: JobContext, { variables }: JobAccess): readonly string[] {
  const isListed = (name: string) => (ceiling.environment ?? []).some((entry) => fitsPattern(entry, name));
  const problems = variables
    .filter(({ name }) => !isListed(name))
    .map(({ where, name, use }) => `${where} ${use} ${name}, which jobs.environment does not list`);
  return [...new Set(problems)];
}

function addressProblems(
  { ceiling, allowPrivate }: JobContext,
  { where, shown, url, isServer, isPrivate }: JobAddress,
): readonly string[] {
  if (url === null) return [];
  if (isServer && ceiling.servers !== undefined)
    return ceiling.servers.some((entry) => isAtAddress(url, entry))
      ? []
      : [`${where} connects to ${shown}, which jobs.servers does not list`];
  if (!mayReach({ ceiling, allowPrivate }, url))
    return [`${where} connects to ${shown}, which ${notListed(ceiling.domains)}`];
  if (!isPrivate || allowPrivate || isListed(ceiling.domains ?? [], url, "!private")) return [];
  const other = isServer ? ", nor jobs.servers its address" : "";
  return [`${where} is private: true, and jobs.domains does not list ${shown}!private${other}`];
}

function notListed(domains: readonly string[] | undefined): string {
  return domains === undefined
    ? "is not a public host, and jobs.domains does not list it"
    : "jobs.domains does not list";
}

function isAtAddress(url: string, entry: string): boolean {
  const [given, listed] = [URL.parse(url), URL.parse(entry)];
  if (given === null || listed === null || given.origin !== listed.origin) return false;
  const folder = listed.pathname.endsWith("/") ? listed.pathname : `${listed.pathname}/`;
  return given.pathname === listed.pathname || given.pathname.startsWith(folder);
}

/** Without a list: every public host, on any port. */
function mayReach(
  { ceiling, allowPrivate }: Pick<JobContext, "ceiling" | "allowPrivate">,
  url: string,
): boolean {
  const host = URL.parse(url.trim())?.hostname ?? "";
  if (host === "") return false;
  if (ceiling.domains === undefined) return allowPrivate || isPublicHost(host);
  return isListed(ceiling.domains, url, "");
}

/** An entry without a port covers the web ports; for mail, the mail ports. */
function isListed(domains: readonly string[], url: string, mark: "" | "!private"): boolean {
  const { protocol = "", hostname = "", port = "" } = URL.parse(url.trim()) ?? {};
  const { usual, others } = PORTS[protocol] ?? { usual: "443", others: [] };
  const hosts = [`${hostname}:${port === "" ? usual : port}`];
  if (others.includes(port)) hosts.push(hostname);
  return hosts.some((host) => isWithinDomains(`${host}${mark}`, domains));
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

function domainProblems({ ceiling, allowPrivate }: JobContext, { domains }: JobAccess): readonly string[] {
  const { domains: listed } = ceiling;
  const isAllowed = (entry: string) => {
    if (listed === undefined) return allowPrivate || !opensPrivate(entry);
    return listed.includes(entry) || (listed.length > 0 && isWithinDomains(entry, listed));
  };
  return domains
    .filter((entry) => !isAllowed(entry))
    .map((entry) => `constraints.allowed_domains has ${JSON.stringify(entry)}, which ${notListed(listed)}`);
}

/** Models that the configuration defines by name are always allowed. */
function modelProblems({ ceiling, loaded }: JobContext, { models }: JobAccess): readonly string[] {
  const { models: listed } = ceiling;
  if (listed === undefined) return [];
  const offered = Object.keys(loaded.config.models ?? {});
  return models
    .filter(({ name }) => !offered.includes(name) && !listed.some((entry) => fitsPattern(entry, name)))
    .map(({ where, name }) => `${where} asks model ${JSON.stringify(name)}, which jobs.models does not list`);
}

/**
 * Checks the folder that tools write to. Unless the operator configured one, it must be a new folder inside the project: among existing
 * files, packages or in a hidden folder, what a model writes could be executed or read as configuration.
 */
async function workspaceProblems(job: JobContext, workspace: string): Promise<readonly string[]> {
  const { ceiling, project, loaded, runId } = job;
  const runs = resolve(project, loaded.config.workspaceRoot ?? ".");
  const folder = resolve(runs, runDirectory(workspace, runId ?? "the-run"));
  const roots =
    ceiling.workspaceRoot === undefined ? [project, runs] : [resolve(project, ceiling.workspaceRoot)];
  const real = await realPath(folder);
  const setting = `artifacts.workspace_dir is ${JSON.stringify(workspace)}`;
  // After a symlink, `..` is another folder than it looks.
  if (workspace.split(/[/\\]/).includes("..")) return [`${setting}, which must not contain ".."`];
  for (const root of roots) {
    const top = await realPath(root);
    if (real === null || top === null || !isBelow(top, real)) continue;
    if (ceiling.workspaceRoot !== undefined) return [];
    const names = relative(top, real).split(sep);
    if (names.some((name) => name.startsWith(".") || name.toLowerCase() === "node_modules"))
      return [`${setting}, which is in a hidden folder or in node_modules`];
    return (await isFree(real))
      ? []
      : [`${setting}, which has files that no run created (jobs.workspaceRoot can allow such a folder)`];
  }
  return [
    `${setting}, which is outside of ${[...new Set(roots)].join(" and ")} (jobs.workspaceRoot sets where it may be)`,
  ];
}

async function isFree(folder: string): Promise<boolean> {
  const names: readonly string[] = await readdir(folder).catch(() => []);
  return names.length === 0 || names.includes(RUN_MARK);
}
