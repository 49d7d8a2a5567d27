import { ConfigurationError } from "../../core/errors.ts";
import { assertOptions } from "../../core/naming/option-names.ts";
import { assertAllowedDomains } from "../../core/network-policy.ts";

/**
 * The operator's limits on job files: a job file can name programs, environment variables and hosts, and may come from
 * someone else. A RunSpec that code passes to a runner is not limited by it.
 */
export type JobCeiling = {
  /**
   * The programs that a job may start as MCP servers, each with its first arguments:
   * `"npx -y @modelcontextprotocol/server-filesystem"`, or a list of words. More arguments may follow. No shell is used.
   * By default none. A program starts in the folder of the configuration, or in the entry's `cwd`:
   * `{ command: "node ./server.mjs", cwd: "servers" }`.
   */
  readonly commands?: readonly JobCommand[];
  /** The environment variables that a job may read, and set for its programs: `"NOTES_TOKEN"`, `"NOTES_*"`. By default none. */
  readonly environment?: readonly string[];
  /** The hosts that a job may reach, as in `allowedDomains`. By default all public hosts; private hosts must be listed. */
  readonly domains?: readonly string[];
  /** The parent folder of workspaces; folders with files may be used. By default the configuration's, for empty ones only. */
  readonly workspaceRoot?: string;
  /** Models in addition to `models` of the configuration: `"openai/*"`. By default all whose package is installed. */
  readonly models?: readonly string[];
  /** Address prefixes of MCP servers: `"https://tools.example.com/mcp"`. By default all that `domains` allows. */
  readonly servers?: readonly string[];
};

type JobCommand =
  | string
  | readonly string[]
  | { readonly command: string | readonly string[]; readonly cwd?: string };

const EXAMPLES: { readonly [K in keyof Required<JobCeiling>]: string } = {
  commands: '["npx -y @modelcontextprotocol/server-filesystem"]',
  environment: '["NOTES_TOKEN", "SMTP_*"]',
  domains: '["example.com", "127.0.0.1:8080"]',
  workspaceRoot: '"./work"',
  models: '["openai/*"]',
  servers: '["https://tools.example.com/mcp"]',
};

/** A misspelt limit would silently allow nothing, or everything. */
export function assertJobCeiling(given: unknown): asserts given is JobCeiling {
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw new ConfigurationError(`jobs is not an object: give one with ${Object.keys(EXAMPLES).join(", ")}.`);
  assertOptions("jobs", given, EXAMPLES);
  for (const [name, isUsable] of Object.entries(CHECKS)) {
    const value = (given as { readonly [name: string]: unknown })[name];
    if (value === undefined || isUsable(value)) continue;
    throw new ConfigurationError(
      `jobs.${name} cannot be used: write it like ${EXAMPLES[name as keyof JobCeiling]}.`,
    );
  }
}

const CHECKS: { readonly [K in keyof Required<JobCeiling>]: (value: unknown) => boolean } = {
  commands: (value) => isListOf(value, (entry) => listedCommand(entry) !== null),
  environment: (value) =>
    isListOf(value, (entry) => typeof entry === "string" && /^[A-Za-z_*][A-Za-z0-9_*]*$/.test(entry)),
  domains: (value) => {
    assertAllowedDomains(value, "jobs.domains");
    return true;
  },
  workspaceRoot: isPlainText,
  models: (value) => isListOf(value, isPlainText),
  servers: (value) => isListOf(value, (entry) => typeof entry === "string" && isServerAddress(entry)),
};

/** The program with its first arguments, and the folder that it starts in; null for the default. */
export type ListedCommand = { readonly words: readonly string[]; readonly cwd: string | null };

/** Parses an entry of `commands`; null if it is not valid. */
export function listedCommand(entry: unknown): ListedCommand | null {
  const isPlain = typeof entry !== "object" || entry === null || Array.isArray(entry);
  const {
    command,
    cwd = null,
    ...others
  }: { command?: unknown; cwd?: unknown } = isPlain ? { command: entry } : entry;
  const words: readonly unknown[] =
    typeof command === "string" ? command.trim().split(/\s+/) : Array.isArray(command) ? command : [];
  const isUsable = words.length > 0 && words.every(isPlainText) && Object.keys(others).length === 0;
  return isUsable && (cwd === null || isPlainText(cwd)) ? { words, cwd } : null;
}

function isServerAddress(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.search === "" && url.hash === "";
}

function isPlainText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "" && !value.includes("\0");
}

function isListOf(value: unknown, fits: (entry: unknown) => boolean): boolean {
  return Array.isArray(value) && (value as readonly unknown[]).every(fits);
}
