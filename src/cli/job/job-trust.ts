import { createHash } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { isCancel, select } from "@clack/prompts";
import { ConfigurationError } from "../../core/errors.ts";
import { visibleJson } from "../../core/visible-text.ts";
import { privateFolder } from "../config/private-folder.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { CommandInput, CommandOption } from "../context/command.ts";
import { cleanLine, pad, wrap } from "../context/terminal-text.ts";
import { canAsk } from "../screen/ask-person.ts";
import { paint } from "../screen/format.ts";
import type { JobAddress, JobProgram, JobWants } from "./job-wants.ts";

export const TRUST_OPTION: CommandOption = {
  flags: "--trust",
  summary: "run a job file that has not been run before, without being asked",
};

/** A job file as it was read. */
export type SeenJob = {
  readonly path: string;
  /** The hash of its text. */
  readonly digest: string;
  /** The folder that its run belongs to: what it names is meant from there. */
  readonly project: string;
  readonly wants: JobWants;
};

/**
 * Lets a job file pass that wants nothing of the machine, that was agreed to before, or that is agreed to now. What was agreed to is
 * remembered by the file's text and place, in the user's own folder, where no tool of a job writes: another text is another job. What is
 * started for a job runs as the user, and could write there; it was agreed to.
 *
 * @throws ConfigurationError where a person said no, or nobody can be asked.
 */
export async function assertTrusted(context: CliContext, input: CommandInput, job: SeenJob): Promise<void> {
  const wishes = wishesOf(job.wants);
  if (wishes.length === 0 || input.flag("trust")) return;
  const folder = privateFolder("state", "trusted-jobs", context.env);
  const note = folder === null ? null : join(folder, await nameOfNote(job));
  if (note !== null && existsSync(note)) return;
  if (input.json || !canAsk(context)) throw notSeen(job, wishes);
  if (!(await isAgreed(context, job, wishes)))
    throw new ConfigurationError(
      `${job.path} was not run, and nothing was started: run it again to be asked again.`,
    );
  remember(context, job, note);
}

async function nameOfNote({ path, digest, project }: SeenJob): Promise<string> {
  const places = [await realpath(path), await realpath(project)];
  return createHash("sha256")
    .update(JSON.stringify([...places, digest]))
    .digest("hex");
}

/** That it is there says all; what is in it is for people. */
function remember(context: CliContext, { path }: SeenJob, note: string | null): void {
  try {
    if (note === null) throw new Error("there is no folder for that which is yours alone");
    writeFileSync(note, `${JSON.stringify({ file: path })}\n`, { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (note !== null && existsSync(note)) return;
    const why = error instanceof Error ? error.message : String(error);
    context.stderr.write(`${cleanLine(`This cannot be remembered (${why}): you will be asked again.`)}\n`);
  }
}

type Wish = { readonly what: "program" | "variable" | "host" | "folder"; readonly text: string };

function wishesOf({
  programs,
  variables,
  addresses,
  domains,
  openTools,
  workspace,
}: JobWants): readonly Wish[] {
  const hosts = [...addresses.map(shownAddress), ...domains];
  const anyHost = domains.length === 0 ? openTools : [];
  const wishes: readonly Wish[] = [
    ...programs.map((program) => ({ what: "program" as const, text: shownProgram(program) })),
    ...variables.map(({ name, use }) => ({
      what: "variable" as const,
      text: use === "sets" ? `${name}, which it sets` : name,
    })),
    ...hosts.map((text) => ({ what: "host" as const, text })),
    ...anyHost.map((tool) => ({ what: "host" as const, text: `every public one, by ${tool}` })),
    ...(workspace === null ? [] : [{ what: "folder" as const, text: quoted(workspace) }]),
  ];
  const isFirst = ({ what, text }: Wish, index: number) =>
    wishes.findIndex((each) => each.what === what && each.text === text) === index;
  return wishes.filter(isFirst);
}

/** Each word by itself: a blank or a line break in one would make two of it. */
function shownProgram({ command, args, cwd }: JobProgram): string {
  const words = [command, ...args].map(quoted).join(" ");
  return cwd === null ? words : `${words} in ${quoted(cwd)}`;
}

function quoted(word: string): string {
  return visibleJson(JSON.stringify(word));
}

function shownAddress({ shown, isPrivate }: JobAddress): string {
  return isPrivate ? `${shown}, also where that is a private address` : shown;
}

function notSeen({ path }: SeenJob, wishes: readonly Wish[]): ConfigurationError {
  const wanted = wishes.map(({ what, text }) => `the ${what} ${text}`).join("; ");
  return new ConfigurationError(
    `${path} has not been run here before, and wants ${wanted}: look at it, and run it once on a terminal to agree, or with --trust.`,
  );
}

const WORD_COLUMNS = 10;

async function isAgreed(context: CliContext, { path }: SeenJob, wishes: readonly Wish[]): Promise<boolean> {
  const { stdin, stderr } = context;
  const { bold } = paint(context);
  const room = Math.max(20, stderr.columns - WORD_COLUMNS - 3);
  const lines = wishes.flatMap(({ what, text }) =>
    wrap(cleanLine(text), room).map(
      (line, index) => `  ${pad(index === 0 ? what : "", WORD_COLUMNS)}${line}`,
    ),
  );
  const title = `${cleanLine(path)} has not been run here before. It wants:`;
  stderr.write(
    `\n${wrap(title, stderr.columns - 1)
      .map(bold)
      .join("\n")}\n${lines.join("\n")}\n\n`,
  );
  const said = await select({
    message: "Run it?",
    initialValue: "no",
    options: [
      { value: "yes", label: "Yes, and do not ask again while it stays as it is" },
      { value: "no", label: "No" },
    ],
    input: stdin.stream,
    output: stderr.stream,
    showInstructions: false,
    withGuide: false,
  });
  return !isCancel(said) && said === "yes";
}
