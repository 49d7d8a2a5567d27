import { type Argument, CommanderError, Option, Command as Parser } from "commander";
import { visibleJson } from "../core/visible-text.ts";
import { packageVersion } from "../server/own-files.ts";
import { commandNames, groups, loadCommands } from "./commands.ts";
import type { CliContext, TextOutput } from "./context/cli-context.ts";
import { type Command, type CommandArgument, CommandInput, type CommandOption } from "./context/command.ts";
import { WrongUseError } from "./context/wrong-use-error.ts";
import { reportError } from "./run/report-error.ts";

/** Options of every command, accepted before or after its name. */
const GLOBAL_OPTIONS: readonly CommandOption[] = [
  { flags: "--json", summary: "print one JSON document" },
  { flags: "--store <url>", summary: "the store (default: file:./.pawl/pawl.db)" },
  { flags: "--config <file>", summary: "the configuration file (default: pawl.config.ts)" },
  { flags: "--verbose", summary: "show stack traces of errors" },
  { flags: "--no-color", summary: "disable colours" },
];

type Chosen = { readonly command: Command; readonly input: CommandInput };

/** Runs one command line and resolves to its exit code. Errors have been reported by then. */
export async function runCommandLine(argv: readonly string[], context: CliContext): Promise<number> {
  const flags = flagsOf(argv);
  const useColour = context.useColour && !flags.includes("--no-color");
  const stdout = flags.includes("--json") ? jsonOutput(context.stdout) : context.stdout;
  const given = { ...context, useColour, stdout };
  if (flags.includes("--json")) given.keepStdoutForDocuments();
  try {
    const chosen = await choose(argv, given);
    if (chosen === null) return 0;
    const { command, input } = chosen;
    const end = await command.execute(given, input);
    if (!input.json) given.stdout.write(end.text);
    else if (end.document !== undefined) writeDocument(given, end.document);
    return end.exitCode;
  } catch (error) {
    return reportError(given, error, reportingOf(flags));
  }
}

/** Escapes control characters in every JSON document: the reader may be a terminal. */
function jsonOutput(stdout: TextOutput): TextOutput {
  const write = (text: string) => stdout.write(visibleJson(text));
  return Object.assign(Object.create(stdout) as TextOutput, { write });
}

/** Reports an error that no command awaited, like any other error; the process must exit afterwards. */
export function reportUncaught(argv: readonly string[], context: CliContext, error: unknown): number {
  const message = error instanceof Error ? error.message : String(error);
  const cause = new Error(`An error was thrown outside of the command: ${message}`, { cause: error });
  const reporting = reportingOf(flagsOf(argv));
  const stdout = reporting.json ? jsonOutput(context.stdout) : context.stdout;
  return reportError({ ...context, stdout }, cause, reporting);
}

function flagsOf(argv: readonly string[]): readonly string[] {
  return argv.slice(0, argv.includes("--") ? argv.indexOf("--") : argv.length);
}

function reportingOf(flags: readonly string[]): { readonly json: boolean; readonly verbose: boolean } {
  return { json: flags.includes("--json"), verbose: flags.includes("--verbose") };
}

function writeDocument(context: CliContext, document: unknown): void {
  context.stdout.write(`${JSON.stringify(document, null, 2)}\n`);
}

/**
 * Parses a command line: the chosen command and its input; null if help or the version was printed instead. Usually the first
 * word is the command, and no other is loaded.
 */
export async function choose(argv: readonly string[], context: CliContext): Promise<Chosen | null> {
  const [meant = null] = commandNames.filter((name) => startsWith(argv, name));
  try {
    return parse(argv, context, await loadCommands(meant));
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0 || error.code === "commander.help") return null;
    throw wrongUse(error, argv);
  }
}

function startsWith(argv: readonly string[], name: string): boolean {
  return argv.slice(0, name.split(" ").length).join(" ") === name;
}

function parse(argv: readonly string[], context: CliContext, commands: readonly Command[]): Chosen | null {
  const choice: { made: Chosen | null } = { made: null };
  const program = buildProgram(context, commands, (chosen) => {
    choice.made = chosen;
  });
  program.parse([...argv], { from: "user" });
  return choice.made;
}

function buildProgram(
  context: CliContext,
  commands: readonly Command[],
  chosen: (choice: Chosen) => void,
): Parser {
  const program = new Parser("pawl")
    .description("Durable agents: every turn committed once, every tool call with a receipt.")
    .version(packageVersion(), "-V, --version", "print the version")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [command]", "show the help of a command")
    .exitOverride()
    .configureHelp({
      showGlobalOptions: true,
      // Every command has options, so "[options]" is left out.
      subcommandTerm: (each) => [each.name(), ...each.registeredArguments.map(argumentTerm)].join(" "),
    })
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      // Only the help for a missing command is written here; errors go through `reportError`.
      writeErr: (text) => context.stdout.write(text),
      outputError: () => undefined,
      getOutHelpWidth: () => context.stdout.columns,
      getOutHasColors: () => context.useColour,
    })
    .addHelpText("after", exampleText("pawl run report --input 'Quantum computing'"));
  for (const option of GLOBAL_OPTIONS) program.addOption(parserOption(option));
  for (const command of commands) addCommand(program, command, chosen);
  return program;
}

function addCommand(program: Parser, command: Command, chosen: (choice: Chosen) => void): void {
  const words = command.name.split(" ");
  const name = words.at(-1) ?? "";
  const parent = words.length === 1 ? program : groupOf(program, words[0] ?? "");
  const parser = parent
    .command(name)
    .summary(command.summary)
    .description(`${command.summary}.`)
    .addHelpText("after", exampleText(command.example));
  for (const argument of command.arguments) parser.argument(placeholder(argument), argument.summary);
  for (const option of command.options) parser.addOption(parserOption(option));
  parser.action(() => {
    chosen({ command, input: inputOf(command, parser) });
  });
}

function groupOf(program: Parser, name: string): Parser {
  const known = program.commands.find((each) => each.name() === name);
  if (known !== undefined) return known;
  const { summary, example } = groups[name] ?? { summary: name, example: `pawl ${name} --help` };
  const group = program.command(name).summary(summary).description(`${summary}.`);
  return group.addHelpText("after", exampleText(example));
}

function exampleText(example: string): string {
  return `\nExample:\n  ${example}`;
}

function placeholder({ name, isOptional }: CommandArgument): string {
  return isOptional ? `[${name}]` : `<${name}>`;
}

function argumentTerm(argument: Argument): string {
  return argument.required ? `<${argument.name()}>` : `[${argument.name()}]`;
}

function parserOption({ flags, summary, choices, isRepeatable }: CommandOption): Option {
  const option = new Option(flags, summary);
  if (choices !== undefined) option.choices(choices);
  if (isRepeatable)
    option.argParser((value: string, earlier: readonly string[] | undefined) => [...(earlier ?? []), value]);
  return option;
}

function inputOf(command: Command, parser: Parser): CommandInput {
  const words = command.arguments.flatMap(({ name }, index) => {
    const value = parser.args[index];
    return value === undefined ? [] : [[name, value] as const];
  });
  const options: Record<string, unknown> = parser.optsWithGlobals();
  return new CommandInput(new Map(words), new Map(Object.entries(options)));
}

/** Commander's message as one sentence that ends with the help command. */
function wrongUse(error: CommanderError, argv: readonly string[]): WrongUseError {
  const [first = "", suggestion] = error.message.replace(/^error: /, "").split("\n");
  const what = first.replace(/\.$/, "");
  const meant = suggestion === undefined ? "" : ` ${suggestion.replace("(Did", "(did")}`;
  const help = ["pawl", ...commandWords(argv), "--help"].join(" ");
  return new WrongUseError(`${what}${meant}: see \`${help}\`.`, { reason: error.code });
}

/** The words of the intended command or group; empty if there is none. */
function commandWords(argv: readonly string[]): readonly string[] {
  const words = argv.filter((word) => !word.startsWith("-"));
  const names = [...commandNames, ...Object.keys(groups)];
  const meant = names.find((name) => words.slice(0, name.split(" ").length).join(" ") === name);
  return meant === undefined ? [] : meant.split(" ");
}
