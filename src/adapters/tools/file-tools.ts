import { setImmediate } from "node:timers/promises";
import { z } from "zod";
import { FinalFailure, WorkspaceError } from "../../core/errors.ts";
import { type ToolCallContext, tool } from "../../engine/definition/tool.ts";
import type { ArtifactRecord } from "../../store/store.ts";
import { globMatcher } from "./glob.ts";
import { findLines, type LinesBetween, linesBetween } from "./text-lines.ts";
import {
  listWorkspace,
  MOST_FILE_BYTES,
  readWorkspaceFile,
  readWorkspaceText,
  textOf,
  workspaceName,
} from "./workspace-files.ts";

const MOST_READ_CHARACTERS = 50_000;
const MOST_LISTED = 500;
const MOST_MATCHES = 100;
const MOST_LINE_CHARACTERS = 300;

const path = z.string().min(1).describe("The path of the file inside the workspace, such as notes/plan.md.");
const folder = z
  .string()
  .optional()
  .describe("Only files below this folder; by default the whole workspace.");
const pattern = z
  .string()
  .min(1)
  .optional()
  .describe(
    'Only files whose path matches: "*.md" in any folder, "notes/**" all below notes, ? one character.',
  );

/** Reading changes nothing, so an interrupted read is simply repeated. */
export const readFile = tool({
  name: "read_file",
  description: `Read a text file of the workspace, or some lines of it. At most ${MOST_READ_CHARACTERS} characters are returned at once; \`next\` is then the line to continue from.`,
  inputSchema: z.object({
    path,
    fromLine: z.int().min(1).optional().describe("The first line to read, counted from 1."),
    toLine: z.int().min(1).optional().describe("The last line to read."),
  }),
  effect: "read_only",
  recovery: "repeat",
  execute: async ({ path: name, fromLine = 1, toLine }, call) => {
    const text = await call.hideLong(await readWorkspaceText(call, name));
    const wanted = await linesBetween(text, fromLine, toLine ?? Number.POSITIVE_INFINITY, call.signal);
    const { total } = wanted;
    if (fromLine > Math.max(total, 1) || (toLine !== undefined && toLine < fromLine))
      throw new FinalFailure(
        `There are no lines ${fromLine} to ${toLine ?? "the end"} in ${JSON.stringify(name)}: it has ${total}.`,
      );
    const given = fitting(wanted);
    const lastLine = fromLine - 1 + given.count;
    return {
      path: workspaceName(name),
      text: given.text,
      fromLine,
      toLine: lastLine,
      totalLines: total,
      ...(given.count < wanted.count ? { next: lastLine + 1 } : {}),
      ...(given.cut > 0
        ? { note: `Line ${lastLine} is longer: ${given.cut} characters of it were left out.` }
        : {}),
    };
  },
});

/** As many whole lines as may be returned at once; of a single line that is too long, its beginning. */
function fitting({ text, count }: LinesBetween): {
  readonly text: string;
  readonly count: number;
  readonly cut: number;
} {
  if (text.length <= MOST_READ_CHARACTERS) return { text, count, cut: 0 };
  const end = text.lastIndexOf("\n", MOST_READ_CHARACTERS);
  if (end !== -1) {
    const whole = text.slice(0, end);
    return { text: whole, count: whole.split("\n").length, cut: 0 };
  }
  const beginning = text.slice(0, MOST_READ_CHARACTERS).toWellFormed();
  const lineEnd = text.indexOf("\n");
  return { text: beginning, count: 1, cut: (lineEnd === -1 ? text.length : lineEnd) - beginning.length };
}

/**
 * The bytes are kept in the store, and the file is a copy of them. Writing the same bytes again results in the same file, so an
 * interrupted write is repeated. Exclusive: of two writes to one file in a turn, the second counts.
 */
export const writeFile = tool({
  name: "write_file",
  description:
    "Write a text file to the workspace: the whole file, replacing any earlier content. It is kept with the run. The result has its hash.",
  inputSchema: z.object({ path, text: z.string().max(MOST_FILE_BYTES).describe("The whole content.") }),
  effect: "local",
  recovery: "repeat",
  exclusive: true,
  execute: async ({ path: name, text }, call) => keptFile(await keep(call, name, text.toWellFormed())),
});

/** Keeps an artifact under a name that a model has chosen: a problem with the name is reported to the model. */
export async function keep(
  call: ToolCallContext,
  name: string,
  content: Uint8Array | string,
): Promise<ArtifactRecord> {
  try {
    return await call.artifact(workspaceName(name), content);
  } catch (error) {
    if (WorkspaceError.isInstance(error)) throw new FinalFailure(error.message, {}, { cause: error });
    throw error;
  }
}

export function keptFile({ name, size, hash }: ArtifactRecord) {
  return { path: name, bytes: size, hash };
}

/** The tool `list_files`: lists the files of the workspace. */
export const listFiles = tool({
  name: "list_files",
  description: `List the files of the workspace with their sizes in bytes, at most ${MOST_LISTED} at once.`,
  inputSchema: z.object({ folder, pattern }),
  effect: "read_only",
  recovery: "repeat",
  execute: async (wanted, call) => {
    const { files, isWhole } = await filesFor(wanted, call);
    const given = files.slice(0, MOST_LISTED).map(({ name, size }) => ({ path: name, bytes: size }));
    const notes = [
      ...(files.length > given.length ? [`${files.length - given.length} more files are not listed`] : []),
      ...(isWhole ? [] : ["the workspace has too many files to list all of them"]),
    ];
    return { files: given, ...noteOf(notes, "name a folder or a pattern") };
  },
});

async function filesFor(
  wanted: { readonly folder?: string | undefined; readonly pattern?: string | undefined },
  call: ToolCallContext,
) {
  const { files, isWhole } = await listWorkspace(call, wanted.folder);
  const fits = wanted.pattern === undefined ? () => true : globMatcher(wanted.pattern);
  return { files: files.filter(({ name }) => fits(name)), isWhole };
}

function noteOf(notes: readonly string[], advice: string): { readonly note?: string } {
  if (notes.length === 0) return {};
  const text = notes.join("; ");
  return { note: `${text.charAt(0).toUpperCase()}${text.slice(1)}: ${advice}.` };
}

/** Plain text, not a regular expression: a model's expression could keep the whole process busy for hours. */
export const searchFiles = tool({
  name: "search_files",
  description: `Search the files of the workspace for a text, line by line. Each match is "path:line: the line", at most ${MOST_MATCHES}. The text is matched literally; it is not a regular expression.`,
  inputSchema: z.object({
    text: z.string().min(1).describe("The text to search for, within one line."),
    matchCase: z.boolean().optional().describe("Whether A and a are different; false by default."),
    folder,
    pattern,
  }),
  effect: "read_only",
  recovery: "repeat",
  execute: async ({ text, matchCase = false, ...wanted }, call) => {
    const { files, isWhole } = await filesFor(wanted, call);
    const searched = (line: string) => (matchCase ? line : line.toLowerCase());
    const needle = searched(text);
    const fits = (line: string) => searched(line).includes(needle);
    const matches: string[] = [];
    const skipped: string[] = [];
    for (const { name, size } of files) {
      call.signal.throwIfAborted();
      const content = size > MOST_FILE_BYTES ? null : await textIn(call, name);
      if (content === null) skipped.push(name);
      // One more than is returned shows that there are more.
      const remaining = MOST_MATCHES + 1 - matches.length;
      const found = await findLines(content ?? "", fits, remaining, call.signal);
      matches.push(...found.map(({ number, line }) => `${name}:${number}: ${shortened(line)}`));
      if (matches.length > MOST_MATCHES) break;
      await setImmediate();
    }
    const notes = [
      ...(matches.length > MOST_MATCHES ? [`there are more than ${MOST_MATCHES} matches`] : []),
      ...(isWhole ? [] : ["not all files were searched"]),
    ];
    return {
      matches: matches.slice(0, MOST_MATCHES),
      ...noteOf(notes, "narrow it down with a longer text, a folder or a pattern"),
      ...(skipped.length > 0 ? { notSearched: skipped.slice(0, 20) } : {}),
    };
  },
});

/** Null for a file that is not text, or is gone or locked: it is listed as not searched. */
async function textIn(call: ToolCallContext, name: string): Promise<string | null> {
  try {
    const text = textOf(await readWorkspaceFile(call, name));
    return text === null ? null : await call.hideLong(text);
  } catch (error) {
    if (FinalFailure.isInstance(error)) return null;
    throw error;
  }
}

function shortened(line: string): string {
  const plain = line.trim();
  return plain.length > MOST_LINE_CHARACTERS
    ? `${plain.slice(0, MOST_LINE_CHARACTERS)}…`.toWellFormed()
    : plain;
}
