import { ConfigurationError } from "../../core/errors.ts";
import { assertAllowedDomains } from "../../core/network-policy.ts";

/**
 * What a job file may ask for at most, in the words of whoever runs it: a job file can name programs, variables and hosts, and
 * may come from somebody else. Code that gives a RunSpec to a runner is not bound by it.
 */
export type JobCeiling = {
  /**
   * The programs that servers of a job may be, each with the arguments that it has to begin with:
   * `"npx -y @modelcontextprotocol/server-filesystem"`, or a list of words. Others may follow. No shell reads it. None unless said.
   * They start in the folder of the configuration, or where the entry says: `{ command: "node ./server.mjs", cwd: "servers" }`.
   */
  readonly commands?: readonly JobCommand[];
  /** The variables that a job may read, and set for its programs: `"NOTES_TOKEN"`, `"NOTES_*"`. None unless said. */
  readonly environment?: readonly string[];
  /** The hosts that a job may reach, as in `allowedDomains`. Every public one unless said; a private one only by being named. */
  readonly domains?: readonly string[];
  /** Where its workspaces lie, existing folders included. Unless said, below the folder of the configuration, in folders of their own. */
  readonly workspaceRoot?: string;
  /** The models beside those in `models` of the configuration: `"openai/*"`. All whose package is installed unless said. */
  readonly models?: readonly string[];
  /** The addresses of MCP servers, with all below them: `"https://tools.example.com/mcp"`. All that `domains` allow unless said. */
  readonly servers?: readonly string[];
};

export type JobCommand =
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

/** What is misspelt here would allow nothing, or everything, and nobody would notice. */
export function assertJobCeiling(given: unknown): asserts given is JobCeiling {
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw new ConfigurationError(`jobs is no object: give one with ${Object.keys(EXAMPLES).join(", ")}.`);
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(EXAMPLES, name))
      throw new ConfigurationError(
        `jobs has no ${JSON.stringify(name)}: it knows ${Object.keys(EXAMPLES).join(", ")}.`,
      );
    if (value === undefined || CHECKS[name as keyof JobCeiling](value)) continue;
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

/** The program with its first arguments, and the folder that it starts in where the entry names one. */
export type ListedCommand = { readonly words: readonly string[]; readonly cwd: string | null };

/** Null where the entry is no such thing. */
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
