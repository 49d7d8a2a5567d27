import { lstat, opendir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { artifactNameProblem, RUN_MARK } from "../../core/artifact-name.ts";
import { FinalFailure, WorkspaceError } from "../../core/errors.ts";
import type { ToolCallContext } from "../../engine/definition/tool.ts";
import { codeOf, holdingFolder, isBelow, isOpenedBelow, openFile } from "../../store/guarded-folder.ts";

// Reads in the workspace of a run, by names that a model has chosen: none leads out of it, neither by `..` nor by a symbolic
// link, and no folder is created.

type InWorkspace = Pick<ToolCallContext, "realWorkspace" | "readArtifact" | "isStoreFile">;

export const MOST_FILE_BYTES = 20_000_000;

/** A name in its stored form: `./notes/a.txt` is `notes/a.txt`. */
export function normalizedName(given: string): string {
  return given.replace(/^(?:\.\/+)+/, "");
}

/** The normalized name, if it can be a file of a workspace. */
export function workspaceName(given: string): string {
  const name = normalizedName(given);
  const problem = artifactNameProblem(name);
  if (problem === null) return name;
  throw new FinalFailure(`${shown(given)} cannot name a file of the workspace: ${problem}.`);
}

/** The bytes of a file, or of the artifact with that name if the file is missing. */
export async function readWorkspaceFile(call: InWorkspace, given: string): Promise<Uint8Array> {
  const name = workspaceName(given);
  const bytes = (await bytesOfFile(call, name)) ?? (await call.readArtifact(name));
  if (bytes === null)
    throw new FinalFailure(
      `There is no file ${shown(name)} in the workspace: list_files shows the existing files.`,
    );
  return bytes;
}

async function bytesOfFile(call: InWorkspace, name: string): Promise<Uint8Array | null> {
  const found = await locate(call, name);
  if (found === null) return null;
  const { path } = found;
  // Checked before it is opened: closing it again would release the store's locks.
  if (await call.isStoreFile(path))
    throw new FinalFailure(
      `${shown(name)} is a file of Pawl's own store, which no tool opens: leave it alone.`,
    );
  const file = await openFile(path).catch((error: unknown) => {
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
      throw new FinalFailure(`${shown(name)} is a folder: list_files shows its files.`);
    if (!stats.isFile()) throw new FinalFailure(`${shown(name)} is not a regular file: it was not read.`);
    // Between the check and the opening, a folder may have been replaced by a link or by another folder.
    if (!(await isOpenedBelow(await workspaceOf(call), path, file))) throw leadsOut(name);
    if (stats.nlink > 1)
      throw new FinalFailure(
        `${shown(name)} has another name elsewhere (a hard link), and may not be a file of the workspace: it was not read.`,
      );
    const { size } = stats;
    if (size > MOST_FILE_BYTES)
      throw new FinalFailure(
        `${shown(name)} has ${size} bytes, and the maximum is ${MOST_FILE_BYTES}: it was not read.`,
      );
    return await file.readFile();
  } finally {
    await file.close();
  }
}

/** The real path, with links resolved; null if there is nothing. A path outside of the workspace is refused. */
async function locate(
  call: Pick<ToolCallContext, "realWorkspace">,
  name: string,
): Promise<{ readonly root: string; readonly path: string } | null> {
  try {
    const root = await workspaceOf(call);
    const path = await realpath(join(root, name));
    if (isBelow(root, path)) return { root, path };
  } catch (error) {
    if (FinalFailure.isInstance(error)) throw error;
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
  return new FinalFailure(`${shown(name)} leads out of the workspace by a symbolic link: it was not read.`);
}

/** The text of a file, without a BOM. */
export async function readWorkspaceText(call: InWorkspace, given: string): Promise<string> {
  const text = textOf(await readWorkspaceFile(call, given));
  if (text === null) throw new FinalFailure(`${shown(given)} is not UTF-8 text: only text can be read.`);
  return text;
}

/** Null if the bytes are not text. */
export function textOf(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

export type WorkspaceEntry = { readonly name: string; readonly size: number };

/** More than is ever listed at once; a larger workspace must be listed folder by folder. */
const MOST_ENTRIES = 20_000;

/** The files below a folder of the workspace, sorted by name. Links are neither followed nor listed. */
export async function listWorkspace(
  call: Pick<ToolCallContext, "realWorkspace">,
  folder: string | undefined,
): Promise<{ readonly files: readonly WorkspaceEntry[]; readonly isWhole: boolean }> {
  const start = folderName(folder);
  const found = await locate(call, start);
  if (found === null) {
    if (start === "") return { files: [], isWhole: true };
    throw new FinalFailure(`There is no folder ${shown(start)} in the workspace.`);
  }
  if (!(await lstat(found.path)).isDirectory()) throw new FinalFailure(`${shown(start)} is not a folder.`);
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
  // Throws if the workspace has been replaced by another folder meanwhile.
  await workspaceOf(call);
  return { files: sorted(files), isWhole: true };
}

function folderName(given: string | undefined): string {
  const plain = (given ?? "").replace(/\/+$/, "");
  return plain === "" || plain === "." ? "" : workspaceName(plain);
}

/** Empty if the folder has been replaced by a link meanwhile. */
async function entriesIn(root: string, folder: string) {
  const parts = folder === "" ? [] : folder.split("/");
  const listed = await holdingFolder(root, parts, async (at) => {
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

/** A name for a message: a model may choose any name. */
function shown(name: string): string {
  return JSON.stringify(name.length > MOST_SHOWN ? `${name.slice(0, MOST_SHOWN)}…` : name);
}
