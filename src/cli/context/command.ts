import type { CliContext } from "./cli-context.ts";
import { WrongUseError } from "./wrong-use-error.ts";

/** 0 done, 1 failed, 2 wrong use, 3 waiting for a person, 130 interrupted. */
export type ExitCode = 0 | 1 | 2 | 3 | 130;

/**
 * One command of `pawl`. What it prints is in what it returns, once for people and once for programs, so that `--json`
 * is one document on stdout whatever the command does. Progress goes to the context while it works, and never to stdout
 * with `--json`.
 *
 * @example
 * export const hello: Command = {
 *   name: "hello",
 *   summary: "Greet somebody",
 *   arguments: [{ name: "who", summary: "whom to greet" }],
 *   options: [{ flags: "--loud", summary: "in capitals" }],
 *   example: "pawl hello world --loud",
 *   execute: async (_context, input) => {
 *     const greeting = `Hello ${input.argument("who")}`;
 *     return { exitCode: 0, text: `${greeting}\n`, document: { greeting } };
 *   },
 * };
 */
export type Command = {
  /** Two words where it belongs to a group: `policy explain`. */
  readonly name: string;
  /** One line, for the list of commands. */
  readonly summary: string;
  readonly arguments: readonly CommandArgument[];
  readonly options: readonly CommandOption[];
  /** A command line that works, shown in its help. */
  readonly example: string;
  execute(context: CliContext, input: CommandInput): Promise<CommandEnd>;
};

export type CommandArgument = {
  readonly name: string;
  readonly summary: string;
  readonly isOptional?: true;
};

export type CommandOption = {
  /** As its help shows it: `--status <status>`, `--dry-run`. */
  readonly flags: string;
  readonly summary: string;
  readonly choices?: readonly string[];
  /** It may be given more than once: `input.list(name)` reads it. */
  readonly isRepeatable?: true;
};

export type CommandEnd = {
  readonly exitCode: ExitCode;
  /** For people, with its line ends; "" where the command has written as it went. */
  readonly text: string;
  /** What `--json` prints; undefined where the command has written its documents as it went. */
  readonly document: unknown;
};

/** What was given to a command. Options are read by their long name in camel case: `dryRun`. */
export class CommandInput {
  readonly #arguments: ReadonlyMap<string, string>;
  readonly #options: ReadonlyMap<string, unknown>;

  constructor(args: ReadonlyMap<string, string>, options: ReadonlyMap<string, unknown>) {
    this.#arguments = args;
    this.#options = options;
  }

  /** One document on stdout, and nothing else there. */
  get json(): boolean {
    return this.flag("json");
  }

  get verbose(): boolean {
    return this.flag("verbose");
  }

  /** An argument that the command requires. */
  argument(name: string): string {
    const value = this.#arguments.get(name);
    if (value === undefined) throw new Error(`The command has no argument ${name}.`);
    return value;
  }

  optionalArgument(name: string): string | null {
    return this.#arguments.get(name) ?? null;
  }

  flag(name: string): boolean {
    return this.#options.get(name) === true;
  }

  text(name: string): string | null {
    const value = this.#options.get(name);
    return typeof value === "string" ? value : null;
  }

  list(name: string): readonly string[] {
    const value = this.#options.get(name);
    return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
  }

  wholeNumber(name: string, atLeast: number): number | null {
    const text = this.text(name);
    if (text === null) return null;
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= atLeast) return value;
    throw new WrongUseError(
      `--${kebabCase(name)} is ${JSON.stringify(text)}: give a whole number of at least ${atLeast}.`,
    );
  }
}

function kebabCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
