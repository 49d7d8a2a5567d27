import type { CliContext } from "./cli-context.ts";
import { WrongUseError } from "./wrong-use-error.ts";

/** 0 done, 1 failed, 2 wrong use, 3 waiting for a person, 130 interrupted. */
export type ExitCode = 0 | 1 | 2 | 3 | 130;

/**
 * One command of `pawl`. It returns its output twice, as text and as a JSON document, so that `--json` always prints exactly one
 * document on stdout. RunProgress is written to the context while the command works, and never to stdout with `--json`.
 *
 * @example
 * export const hello: Command = {
 *   name: "hello",
 *   summary: "Greet a user",
 *   arguments: [{ name: "who", summary: "the name to greet" }],
 *   options: [{ flags: "--loud", summary: "in capitals" }],
 *   example: "pawl hello world --loud",
 *   execute: async (_context, input) => {
 *     const greeting = `Hello ${input.argument("who")}`;
 *     return { exitCode: 0, text: `${greeting}\n`, document: { greeting } };
 *   },
 * };
 */
export type Command = {
  /** Two words for a command of a group: `policy explain`. */
  readonly name: string;
  /** One line, for the list of commands. */
  readonly summary: string;
  readonly arguments: readonly CommandArgument[];
  readonly options: readonly CommandOption[];
  /** A working command line, shown in the help. */
  readonly example: string;
  execute(context: CliContext, input: CommandInput): Promise<CommandResult>;
};

export type CommandArgument = {
  readonly name: string;
  readonly summary: string;
  readonly isOptional?: true;
};

export type CommandOption = {
  /** As shown in the help: `--status <status>`, `--dry-run`. */
  readonly flags: string;
  readonly summary: string;
  readonly choices?: readonly string[];
  /** May be given more than once; read it with `input.list(name)`. */
  readonly isRepeatable?: true;
};

export type CommandResult = {
  readonly exitCode: ExitCode;
  /** Text for people, with line ends; "" if the command has already written its output. */
  readonly text: string;
  /** The document that `--json` prints; undefined if the command has already written its documents. */
  readonly document: unknown;
};

/** The parsed arguments and options of a command. Options are read by their long name in camel case: `dryRun`. */
export class CommandInput {
  readonly #arguments: ReadonlyMap<string, string>;
  readonly #options: ReadonlyMap<string, unknown>;

  constructor(args: ReadonlyMap<string, string>, options: ReadonlyMap<string, unknown>) {
    this.#arguments = args;
    this.#options = options;
  }

  /** `--json`: stdout holds one document and nothing else. */
  get json(): boolean {
    return this.flag("json");
  }

  get verbose(): boolean {
    return this.flag("verbose");
  }

  /** A required argument. */
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
