// The environment variables that the command line reads. A test compares their names with the code.

/** One variable: what holds if it is absent, and what it does. */
export type EnvironmentVariable = {
  readonly name: string;
  readonly absent: string;
  readonly meaning: string;
};

export const ENVIRONMENT: readonly EnvironmentVariable[] = [
  {
    name: "PAWL_STORE",
    absent: "`store` of `pawl.config.ts`, or `file:./.pawl/pawl.db`",
    meaning: "The address of the store. `--store` takes precedence.",
  },
  {
    name: "PAWL_REDACTION_KEY",
    absent: "–",
    meaning:
      "For a store on PostgreSQL: the key for digests of hidden values, 64 hex digits, the same for every process.",
  },
  {
    name: "PAWL_LOG_LEVEL",
    absent: "`info`, if logs are written",
    meaning:
      "Logs on stderr instead of progress: `trace`, `debug`, `info`, `warn`, `error` or `silent`. As `--log-level`.",
  },
  {
    name: "PAWL_LOG_FORMAT",
    absent: "`pretty` on a terminal, else `json`",
    meaning: "Logs on stderr instead of progress, as `pretty` or `json`. As `--log-format`.",
  },
  { name: "NO_COLOR", absent: "–", meaning: "Any text disables colours, as `--no-color` does." },
  { name: "TERM", absent: "–", meaning: "`dumb` disables colours." },
  {
    name: "XDG_CACHE_HOME",
    absent: "`~/.cache`",
    meaning: "Its folder `pawl` holds compiled code, so that commands start faster.",
  },
  {
    name: "XDG_STATE_HOME",
    absent: "`~/.local/state`",
    meaning: "Its folder `pawl` holds the list of job files that a person has agreed to.",
  },
  { name: "HOME", absent: "the home folder of the user", meaning: "The parent of the two folders above." },
];
