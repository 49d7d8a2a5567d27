import type { CliContext } from "../context/cli-context.ts";
import type { CommandInput, CommandOption } from "../context/command.ts";
import { WrongUseError } from "../context/wrong-use-error.ts";

const LEVELS = ["trace", "debug", "info", "warn", "error", "silent"] as const;
const FORMATS = ["pretty", "json"] as const;

export type LogLevel = (typeof LEVELS)[number];
export type LogFormat = (typeof FORMATS)[number];

/** What a command that works on a run can be asked to log. */
export const LOG_OPTIONS: readonly CommandOption[] = [
  {
    flags: "--log-level <level>",
    summary: "log one line an event to stderr, in place of the progress",
    choices: LEVELS,
  },
  {
    flags: "--log-format <format>",
    summary: "how: pretty on a terminal, else json, unless said",
    choices: FORMATS,
  },
];

export type LogWish = { readonly level: LogLevel; readonly format: LogFormat };

/** What is to be logged: by the flags, else by PAWL_LOG_LEVEL and PAWL_LOG_FORMAT; null where nobody asked for a log. */
export function logWish({ env, stderr }: CliContext, input: CommandInput): LogWish | null {
  const level = oneOf(LEVELS, "PAWL_LOG_LEVEL", input.text("logLevel") ?? env.PAWL_LOG_LEVEL);
  const format = oneOf(FORMATS, "PAWL_LOG_FORMAT", input.text("logFormat") ?? env.PAWL_LOG_FORMAT);
  if (level === null && format === null) return null;
  return { level: level ?? "info", format: format ?? (stderr.isTerminal ? "pretty" : "json") };
}

/** Flags are checked before they come here; the environment is not. */
function oneOf<T extends string>(choices: readonly T[], name: string, value: string | undefined): T | null {
  if (value === undefined || value === "") return null;
  const known = choices.find((choice) => choice === value);
  if (known !== undefined) return known;
  throw new WrongUseError(`${name} is ${JSON.stringify(value)}: use ${choices.join(", ")}.`);
}
