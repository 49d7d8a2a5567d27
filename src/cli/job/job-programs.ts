import { resolve } from "node:path";
import type { BlueprintServer } from "../../core/job/blueprint.ts";
import { type Environment, fillEnvironment } from "../../core/job/blueprint-environment.ts";
import { type JobCeiling, type ListedCommand, listedCommand } from "../../engine/definition/job-ceiling.ts";
import { realPath } from "../../store/guarded-folder.ts";

export type ServerProgram = Extract<BlueprintServer, { readonly command: string }>;

/** A program with its final command line, variables and folder. */
type StartedProgram = {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: { readonly [name: string]: string };
  /** Absolute. */
  readonly cwd: string;
};

/** `why` continues the sentence "it starts a program, …". */
export type ProgramCheck =
  | { readonly ok: true; readonly program: StartedProgram }
  | { readonly ok: false; readonly why: string };

/**
 * The program that may be started for a job: the operator's command in the operator's folder, plus the arguments that the job adds.
 * Words are compared after variables are filled in. Paths are not resolved: `node --import tsx`, npx and the like load what is in
 * their working directory, and a symlink makes `link/../x` another file than it looks.
 */
export async function allowedProgram(
  { commands = [] }: JobCeiling,
  project: string,
  given: ServerProgram,
  env: Environment,
): Promise<ProgramCheck> {
  const { command, args, cwd, env: variables } = fillEnvironment(given, env).value;
  const words = [command, ...args];
  const listed = commands
    .map(listedCommand)
    .filter((entry) => entry !== null)
    .filter((entry) => entry.words.every((word, index) => word === words[index]));
  for (const entry of listed) {
    const start = workingFolder(project, entry);
    if (cwd !== null && !(await isSameFolder(resolve(project, cwd), start))) continue;
    const [program = "", ...rest] = [...entry.words, ...words.slice(entry.words.length)];
    const found = isPath(program) ? resolve(start, program) : program;
    return { ok: true, program: { command: found, args: rest, env: variables, cwd: start } };
  }
  const [first] = listed;
  if (first === undefined) return { ok: false, why: "which jobs.commands does not list" };
  return {
    ok: false,
    why: `which jobs.commands allows only in ${workingFolder(project, first)}, not in ${given.cwd} (leave cwd out of the job, or set cwd in the entry)`,
  };
}

function workingFolder(project: string, { cwd }: ListedCommand): string {
  return resolve(project, cwd ?? ".");
}

/** A bare name is searched in PATH, never in the folder. */
function isPath(program: string): boolean {
  return /[/\\]/.test(program);
}

async function isSameFolder(one: string, other: string): Promise<boolean> {
  const path = await realPath(one);
  return path !== null && path === (await realPath(other));
}
