import type { CliContext } from "../context/cli-context.ts";
import type { CommandInput, CommandOption } from "../context/command.ts";
import { WrongUseError } from "../context/wrong-use-error.ts";

/** From the one that logs the most. */
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "silent"] as const;
const FORMATS = ["pretty", "json"] as const;

type LogLevel = (typeof LOG_LEVELS)[number];
type LogFormat = (typeof FORMATS)[number];

/** The log options of the commands that work on a run. */
export const LOG_OPTIONS: readonly CommandOption[] = [
  {
    flags: "--log-level <level>",
    summary: "log one line per event to stderr instead of the progress display",
    choices: LOG_LEVELS,
  },
  {
    flags: "--log-format <format>",
    summary: "the log format (default: pretty on a terminal, else json)",
    choices: FORMATS,
  },
];

export type LogSettings = { readonly level: LogLevel; readonly format: LogFormat };

/** The log settings from the flags, else from PAWL_LOG_LEVEL and PAWL_LOG_FORMAT; null if no log was requested. */
export function logSettings({ env, stderr }: CliContext, input: CommandInput): LogSettings | null {
  const level = oneOf(LOG_LEVELS, "PAWL_LOG_LEVEL", input.text("logLevel") ?? env.PAWL_LOG_LEVEL);
  const format = oneOf(FORMATS, "PAWL_LOG_FORMAT", input.text("logFormat") ?? env.PAWL_LOG_FORMAT);
  if (level === null && format === null) return null;
  return { level: level ?? "info", format: format ?? (stderr.isTerminal ? "pretty" : "json") };
}

/** Flags are already validated; environment variables are not. */
function oneOf<T extends string>(choices: readonly T[], name: string, value: string | undefined): T | null {
  if (value === undefined || value === "") return null;
  const known = choices.find((choice) => choice === value);
  if (known !== undefined) return known;
  throw new WrongUseError(`${name} is ${JSON.stringify(value)}: use ${choices.join(", ")}.`);
}
