import { resolve } from "node:path";
import type { BlueprintServer } from "../../core/job/blueprint.ts";
import { type Environment, fillEnvironment } from "../../core/job/blueprint-environment.ts";
import { type JobCeiling, type ListedCommand, listedCommand } from "../../engine/definition/job-ceiling.ts";
import { realPlace } from "../config/real-place.ts";

export type ServerProgram = Extract<BlueprintServer, { readonly command: string }>;

/** A program as it is started. */
export type StartedProgram = {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: { readonly [name: string]: string };
  /** Absolute. */
  readonly cwd: string;
};

/** `why` continues "it starts a program, …". */
export type ProgramVerdict =
  | { readonly ok: true; readonly program: StartedProgram }
  | { readonly ok: false; readonly why: string };

/**
 * What is started for a program of a job: the operator's own words, in the operator's folder, with the arguments that the job adds.
 * Words are compared as they are handed over, with variables filled in. A path is not resolved: `node --import tsx`, npx and their
 * like load what lies where they start, and a link makes `link/../x` another file than it looks.
 */
export async function startedProgram(
  { commands = [] }: JobCeiling,
  project: string,
  given: ServerProgram,
  env: Environment,
): Promise<ProgramVerdict> {
  const { command, args, cwd, env: variables } = fillEnvironment(given, env).value;
  const words = [command, ...args];
  const listed = commands
    .map(listedCommand)
    .filter((entry) => entry !== null)
    .filter((entry) => entry.words.every((word, index) => word === words[index]));
  for (const entry of listed) {
    const start = startOf(project, entry);
    if (cwd !== null && !(await isSamePlace(resolve(project, cwd), start))) continue;
    const [program = "", ...rest] = [...entry.words, ...words.slice(entry.words.length)];
    const found = isPath(program) ? resolve(start, program) : program;
    return { ok: true, program: { command: found, args: rest, env: variables, cwd: start } };
  }
  const [first] = listed;
  if (first === undefined) return { ok: false, why: "which jobs.commands does not list" };
  return {
    ok: false,
    why: `which jobs.commands has start in ${startOf(project, first)} and not in ${given.cwd} (leave cwd out of the job, or give the entry a cwd)`,
  };
}

function startOf(project: string, { cwd }: ListedCommand): string {
  return resolve(project, cwd ?? ".");
}

/** A bare name is looked for along PATH, whatever lies in the folder. */
function isPath(program: string): boolean {
  return /[/\\]/.test(program);
}

async function isSamePlace(one: string, other: string): Promise<boolean> {
  const place = await realPlace(one);
  return place !== null && place === (await realPlace(other));
}
