import { lstat, opendir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { artifactNameProblem, RUN_MARK } from "../../core/artifact-name.ts";
import { FinalFailure, WorkspaceError } from "../../core/errors.ts";
import type { ToolCallContext } from "../../engine/definition/tool.ts";
import { codeOf, holdingFolder, isBelow, isOpenedBelow, openFile } from "../../store/guarded-folder.ts";

// Reading in the folder of a run, for names that a model has chosen: none leads out of it, not by `..` and not by a symbolic
// link, and no folder is made on the way.

type InWorkspace = Pick<ToolCallContext, "realWorkspace" | "readArtifact" | "isStoreFile">;

export const MOST_FILE_BYTES = 20_000_000;

/** A name as people and models write it, in the one spelling that is kept: `./notes/a.txt` is `notes/a.txt`. */
export function inOneSpelling(given: string): string {
  return given.replace(/^(?:\.\/+)+/, "");
}

/** That spelling, of a name that can be in a workspace. */
export function workspaceName(given: string): string {
  const name = inOneSpelling(given);
  const problem = artifactNameProblem(name);
  if (problem === null) return name;
  throw new FinalFailure(`${shown(given)} cannot name a file of the workspace: ${problem}.`);
}

/** The bytes of a file; what was kept as an artifact is there even where its file is not. */
export async function readWorkspaceFile(call: InWorkspace, given: string): Promise<Uint8Array> {
  const name = workspaceName(given);
  const bytes = (await bytesOfFile(call, name)) ?? (await call.readArtifact(name));
  if (bytes === null)
    throw new FinalFailure(
      `There is no file ${shown(name)} in the workspace: list_files shows which there are.`,
    );
  return bytes;
}

async function bytesOfFile(call: InWorkspace, name: string): Promise<Uint8Array | null> {
  const found = await placeInside(call, name);
  if (found === null) return null;
  const { place } = found;
  // Before it is opened: closing it again would free the store's locks.
  if (await call.isStoreFile(place))
    throw new FinalFailure(
      `${shown(name)} is a file of Pawl's own store, which no tool opens: leave it alone.`,
    );
  const file = await openFile(place).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return null;
    throw new FinalFailure(
      `${shown(name)} cannot be read (${codeOf(error) ?? "unknown"}).`,
      {},
      { cause: error },
    );
  });
  if (file === null) return null;
  try {
    const stats = await file.stat();
    if (stats.isDirectory())
      throw new FinalFailure(`${shown(name)} is a folder: list_files shows what is in it.`);
    if (!stats.isFile()) throw new FinalFailure(`${shown(name)} is no ordinary file: it is not read.`);
    // Between the look and the opening a folder may have been exchanged for a link, or for another one.
    if (!(await isOpenedBelow(await workspaceOf(call), place, file))) throw leadsOut(name);
    if (stats.nlink > 1)
      throw new FinalFailure(
        `${shown(name)} has another name elsewhere (a hard link), and may be no file of the workspace: it is not read.`,
      );
    const { size } = stats;
    if (size > MOST_FILE_BYTES)
      throw new FinalFailure(
        `${shown(name)} has ${size} bytes, and ${MOST_FILE_BYTES} is the most that is read.`,
      );
    return await file.readFile();
  } finally {
    await file.close();
  }
}

/** Where it really is, links followed; null where there is nothing. What is outside of the workspace is refused. */
async function placeInside(
  call: Pick<ToolCallContext, "realWorkspace">,
  name: string,
): Promise<{ readonly root: string; readonly place: string } | null> {
  try {
    const root = await workspaceOf(call);
    const place = await realpath(join(root, name));
    if (isBelow(root, place)) return { root, place };
  } catch (error) {
    if (error instanceof FinalFailure) throw error;
    const code = codeOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw new FinalFailure(`${shown(name)} cannot be read (${code ?? "unknown"}).`, {}, { cause: error });
  }
  throw leadsOut(name);
}

async function workspaceOf(call: Pick<ToolCallContext, "realWorkspace">): Promise<string> {
  try {
    return await call.realWorkspace();
  } catch (error) {
    throw WorkspaceError.isInstance(error) ? new FinalFailure(error.message, {}, { cause: error }) : error;
  }
}

function leadsOut(name: string): FinalFailure {
  return new FinalFailure(`${shown(name)} leads out of the workspace by a symbolic link: it is not read.`);
}

/** The text of a file. A BOM is no part of it. */
export async function readWorkspaceText(call: InWorkspace, given: string): Promise<string> {
  const text = textOf(await readWorkspaceFile(call, given));
  if (text === null) throw new FinalFailure(`${shown(given)} is no text in UTF-8: only texts can be read.`);
  return text;
}

/** Null where the bytes are no text. */
export function textOf(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

export type WorkspaceEntry = { readonly name: string; readonly size: number };

/** More than anybody lists; a folder that holds more is looked at in parts. */
const MOST_ENTRIES = 20_000;

/** The files below a folder of the workspace, in the order of their names. Links are not followed, and not listed. */
export async function listWorkspace(
  call: Pick<ToolCallContext, "realWorkspace">,
  folder: string | undefined,
): Promise<{ readonly files: readonly WorkspaceEntry[]; readonly isWhole: boolean }> {
  const start = folderName(folder);
  const found = await placeInside(call, start);
  if (found === null) {
    if (start === "") return { files: [], isWhole: true };
    throw new FinalFailure(`There is no folder ${shown(start)} in the workspace.`);
  }
  if (!(await lstat(found.place)).isDirectory()) throw new FinalFailure(`${shown(start)} is no folder.`);
  const files: WorkspaceEntry[] = [];
  const waiting = [start];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const entry of await entriesIn(found.root, next)) {
      const name = next === "" ? entry.name : `${next}/${entry.name}`;
      if (name === RUN_MARK) continue;
      if (files.length + waiting.length >= MOST_ENTRIES) return { files: sorted(files), isWhole: false };
      if (entry.isFolder) waiting.push(name);
      else if (entry.size !== null) files.push({ name, size: entry.size });
    }
  }
  // Another folder may have taken its place meanwhile.
  await workspaceOf(call);
  return { files: sorted(files), isWhole: true };
}

function folderName(given: string | undefined): string {
  const plain = (given ?? "").replace(/\/+$/, "");
  return plain === "" || plain === "." ? "" : workspaceName(plain);
}

/** Nothing where a link has taken the place of the folder meanwhile. */
async function entriesIn(root: string, folder: string) {
  const way = folder === "" ? [] : folder.split("/");
  const listed = await holdingFolder(root, way, async (at) => {
    const entries = [];
    for await (const entry of await opendir(at("."))) {
      const size = entry.isFile() ? (await lstat(at(entry.name))).size : null;
      entries.push({ name: entry.name, isFolder: entry.isDirectory(), size });
      if (entries.length > MOST_ENTRIES) break;
    }
    return entries;
  });
  return listed.ok ? listed.value : [];
}

function sorted(files: readonly WorkspaceEntry[]): readonly WorkspaceEntry[] {
  return files.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

const MOST_SHOWN = 120;

/** A name in a message: it may be anything that a model came up with. */
function shown(name: string): string {
  return JSON.stringify(name.length > MOST_SHOWN ? `${name.slice(0, MOST_SHOWN)}…` : name);
}
