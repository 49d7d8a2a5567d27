// The lines of `sh` blocks: every command in them is one that exists, with arguments that it takes.

import type { Block } from "./blocks.ts";

/** What the commands of a block are checked against. */
export type ShellWorld = {
  /** Rejects if the arguments are not ones that `pawl` takes. */
  readonly parsePawl: (argv: readonly string[]) => Promise<unknown>;
  readonly scripts: readonly string[];
  readonly packages: readonly string[];
  /** True for a file of the repository, or one that a block of the same page saves. */
  readonly isFile: (name: string) => boolean;
};

/** Ordinary commands of a shell, which need no check of ours. */
const ORDINARY = [
  "cat",
  "cd",
  "cp",
  "curl",
  "echo",
  "export",
  "grep",
  "kill",
  "ls",
  "mkdir",
  "rm",
  "sleep",
  "true",
  "wait",
];

/** One command of a block, split into words. */
type ShellCommand = { readonly line: number; readonly words: readonly string[] };

/** The commands of a block. Text after an unquoted `#` is a comment, and a backslash at its end continues a line. */
export function commandsOf(text: string): readonly ShellCommand[] {
  const found: { line: number; words: string[] }[] = [];
  let command = { line: 1, words: [] as string[] };
  const token =
    /\\\n|(?<!\S)#[^\n]*|\d?[<>]+&?\s*\S*|(?:'[^']*'|"(?:\\.|[^"\\])*"|\\[^\n]|[^\s'"\\;&|<>()])+|&&|\|\||[;&|()]|\n/g;
  for (const match of text.matchAll(token)) {
    const [word] = match;
    if (word === "\\\n" || word.startsWith("#") || /^\d?[<>]/.test(word)) continue;
    if (/^(?:&&|\|\||[;&|()\n])$/.test(word)) {
      if (command.words.length > 0) found.push(command);
      command = { line: 1, words: [] };
      continue;
    }
    if (command.words.length === 0) command.line = text.slice(0, match.index).split("\n").length;
    command.words.push(
      word.replace(/'([^']*)'|"((?:\\.|[^"\\])*)"/g, (_, single, double) => single ?? double),
    );
  }
  return command.words.length > 0 ? [...found, command] : found;
}

const KEYWORDS = ["if", "then", "fi", "until", "while", "do", "done", "!"];

/** True for what may stand before a command: a keyword of the shell, or a variable for it. */
function isPrefix(word: string): boolean {
  return KEYWORDS.includes(word) || /^\w+=/.test(word);
}

/** What is wrong with the commands of a block. */
export async function shellProblems(
  { page, line, text }: Block,
  world: ShellWorld,
): Promise<readonly string[]> {
  const problems = commandsOf(text).map(async (command) => {
    const words = command.words.filter((_, i, all) => all.slice(0, i + 1).some((word) => !isPrefix(word)));
    const problem = words.length === 0 ? null : await problemOf(words, world);
    return problem === null ? [] : [`${page}:${line + command.line - 1}: ${words.join(" ")}: ${problem}`];
  });
  return (await Promise.all(problems)).flat();
}

async function problemOf(
  [program = "", ...args]: readonly string[],
  world: ShellWorld,
): Promise<string | null> {
  const given = args.filter((arg) => arg !== "-y" && arg !== "--yes");
  if (program === "pawl") return pawlProblem(args, world);
  if (program === "npx" && given[0] === "pawl") return pawlProblem(given.slice(1), world);
  if (program === "npm") return npmProblem(args, world);
  if (program === "node") return nodeProblem(args, world);
  return ORDINARY.includes(program) ? null : "is no command that the test knows";
}

function pawlProblem(argv: readonly string[], { parsePawl }: ShellWorld): Promise<string | null> {
  return parsePawl(argv).then(
    () => null,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
}

async function npmProblem(args: readonly string[], world: ShellWorld): Promise<string | null> {
  const [command = "", ...rest] = args.filter((arg) => arg !== "-s" && arg !== "--silent");
  if (["test", "init", "ci", "pkg"].includes(command)) return null;
  if (command === "install" || command === "i") return installProblem(rest, world);
  const [script = "", ...more] = rest;
  if (command !== "run") return `npm has no ${command} that the test knows`;
  if (!world.scripts.includes(script)) return `there is no script ${script}`;
  return script === "pawl" ? pawlProblem(more.slice(more.indexOf("--") + 1), world) : null;
}

function installProblem(args: readonly string[], { packages }: ShellWorld): string | null {
  const names = args.filter((arg) => !arg.startsWith("-")).map((arg) => arg.replace(/(?<=.)@.*$/, ""));
  const unknown = names.find((name) => !packages.includes(name));
  return unknown === undefined ? null : `${unknown} is no package that the docs are compiled with`;
}

function nodeProblem(args: readonly string[], { isFile }: ShellWorld): string | null {
  const file = args.find((arg) => !arg.startsWith("-"));
  return file === undefined || isFile(file) ? null : `there is no file ${file}`;
}
