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
import type { JobAccess, JobAddress, JobProgram } from "./job-access.ts";

export const TRUST_OPTION: CommandOption = {
  flags: "--trust",
  summary: "run a new job file without confirmation",
};

/** A job file and the access it asks for. */
export type JobToTrust = {
  readonly path: string;
  /** The hash of its text. */
  readonly digest: string;
  /** The project folder of its run, which relative names refer to. */
  readonly project: string;
  readonly access: JobAccess;
};

/**
 * Accepts a job file that needs no access to the machine, that was confirmed before, or that is confirmed now. Confirmations are
 * stored by the file's text and location in the user's own folder, which tools of a job cannot write: a changed text is a new job.
 * Programs of a job run as the user and could write there; they were confirmed.
 *
 * @throws ConfigurationError if the user declines, or if there is no terminal to ask on.
 */
export async function assertTrusted(
  context: CliContext,
  input: CommandInput,
  job: JobToTrust,
): Promise<void> {
  const requests = requestsOf(job.access);
  if (requests.length === 0 || input.flag("trust")) return;
  const folder = privateFolder("state", "trusted-jobs", context.env);
  const note = folder === null ? null : join(folder, await nameOfNote(job));
  if (note !== null && existsSync(note)) return;
  if (input.json || !canAsk(context)) throw notConfirmed(job, requests);
  if (!(await isConfirmed(context, job, requests)))
    throw new ConfigurationError(
      `${job.path} was not run, and nothing was started: run it again to be asked again.`,
    );
  remember(context, job, note);
}

async function nameOfNote({ path, digest, project }: JobToTrust): Promise<string> {
  const places = [await realpath(path), await realpath(project)];
  return createHash("sha256")
    .update(JSON.stringify([...places, digest]))
    .digest("hex");
}

/** Only the existence of the note counts; its content is for people. */
function remember(context: CliContext, { path }: JobToTrust, note: string | null): void {
  try {
    if (note === null) throw new Error("there is no private folder for it");
    writeFileSync(note, `${JSON.stringify({ file: path })}\n`, { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (note !== null && existsSync(note)) return;
    const why = error instanceof Error ? error.message : String(error);
    context.stderr.write(`${cleanLine(`Your answer cannot be stored (${why}): you will be asked again.`)}\n`);
  }
}

type AccessRequest = { readonly what: "program" | "variable" | "host" | "folder"; readonly text: string };

function requestsOf({
  programs,
  variables,
  addresses,
  domains,
  openTools,
  workspace,
}: JobAccess): readonly AccessRequest[] {
  const hosts = [...addresses.map(shownAddress), ...domains];
  const anyHost = domains.length === 0 ? openTools : [];
  const requests: readonly AccessRequest[] = [
    ...programs.map((program) => ({ what: "program" as const, text: shownProgram(program) })),
    ...variables.map(({ name, use }) => ({
      what: "variable" as const,
      text: use === "sets" ? `${name}, which it sets` : name,
    })),
    ...hosts.map((text) => ({ what: "host" as const, text })),
    ...anyHost.map((tool) => ({ what: "host" as const, text: `every public one, by ${tool}` })),
    ...(workspace === null ? [] : [{ what: "folder" as const, text: quoted(workspace) }]),
  ];
  const isFirst = ({ what, text }: AccessRequest, index: number) =>
    requests.findIndex((each) => each.what === what && each.text === text) === index;
  return requests.filter(isFirst);
}

/** Quotes each word separately, so that blanks and line breaks inside a word stay visible. */
function shownProgram({ command, args, cwd }: JobProgram): string {
  const words = [command, ...args].map(quoted).join(" ");
  return cwd === null ? words : `${words} in ${quoted(cwd)}`;
}

function quoted(word: string): string {
  return visibleJson(JSON.stringify(word));
}

function shownAddress({ shown, isPrivate }: JobAddress): string {
  return isPrivate ? `${shown}, even if it is a private address` : shown;
}

function notConfirmed({ path }: JobToTrust, requests: readonly AccessRequest[]): ConfigurationError {
  const wanted = requests.map(({ what, text }) => `the ${what} ${text}`).join("; ");
  return new ConfigurationError(
    `${path} has not been run here before, and needs access to ${wanted}: review it, then run it once in a terminal to confirm, or with --trust.`,
  );
}

const WORD_COLUMNS = 10;

async function isConfirmed(
  context: CliContext,
  { path }: JobToTrust,
  requests: readonly AccessRequest[],
): Promise<boolean> {
  const { stdin, stderr } = context;
  const { bold } = paint(context);
  const room = Math.max(20, stderr.columns - WORD_COLUMNS - 3);
  const lines = requests.flatMap(({ what, text }) =>
    wrap(cleanLine(text), room).map(
      (line, index) => `  ${pad(index === 0 ? what : "", WORD_COLUMNS)}${line}`,
    ),
  );
  const title = `${cleanLine(path)} has not been run here before. It needs access to:`;
  stderr.write(
    `\n${wrap(title, stderr.columns - 1)
      .map(bold)
      .join("\n")}\n${lines.join("\n")}\n\n`,
  );
  const choice = await select({
    message: "Run it?",
    initialValue: "no",
    options: [
      { value: "yes", label: "Yes, and do not ask again until it changes" },
      { value: "no", label: "No" },
    ],
    input: stdin.stream,
    output: stderr.stream,
    showInstructions: false,
    withGuide: false,
  });
  return !isCancel(choice) && choice === "yes";
}
