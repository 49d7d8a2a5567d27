import { constants } from "node:fs";
import {
  copyFile,
  link,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  stat,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { WrongUseError } from "../context/wrong-use-error.ts";
import type { ProjectFile } from "./project-files.ts";
import { isStagingName, makeStagingFolder, removeStagingFolder } from "./staging-folder.ts";

/** What a new repository may hold: a folder with nothing else counts as empty. */
const HARMLESS = new Set([
  ".git",
  ".gitattributes",
  ".gitignore",
  ".github",
  ".editorconfig",
  ".vscode",
  ".idea",
  ".DS_Store",
  "LICENSE",
  "LICENSE.md",
  "LICENSE.txt",
  "README.md",
]);

export type WrittenProject = {
  readonly written: readonly string[];
  /** Files that were there already, and were left as they are. */
  readonly kept: readonly string[];
};

/** Writes all files, or none: each one is complete before it gets its name, and no existing file is replaced. */
export async function writeProject(folder: string, files: readonly ProjectFile[]): Promise<WrittenProject> {
  try {
    const entries = await entriesOf(folder);
    if (entries === null) return await writeNewFolder(folder, files);
    await assertEmptyEnough(folder, entries, files);
    return await writeIntoFolder(folder, entries, files);
  } catch (error) {
    const code = errorCode(error);
    if (code === null) throw error;
    const problem = `${folder} ${PROBLEMS[code] ?? `cannot be written to (${code}): name another folder`}.`;
    throw new WrongUseError(`${problem} Nothing was written.`, { folder, reason: code });
  }
}

/** What is wrong with a folder, and what to do about it, by the error of the file system. */
const PROBLEMS: Readonly<Record<string, string>> = {
  ENOTDIR: "cannot be made, since a part of its path is a file: name another folder",
  ENAMETOOLONG: "has a name that is too long for the file system: choose a shorter one",
  ENOSPC: "is on a disk that is full: free some space, and try again",
  ENOTEMPTY: "was made by another program at the same time: look at it, and name another folder",
  EEXIST: "was changed by another program at the same time: look at it, and try again",
};

/** Null if the folder does not exist. */
async function entriesOf(folder: string): Promise<readonly string[] | null> {
  const found = await stat(folder).catch((error: unknown) => {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  });
  if (found === null) return null;
  if (found.isDirectory()) return (await readdir(folder)).toSorted();
  throw new WrongUseError(`${folder} is not a folder: name an empty folder, or one that does not exist yet.`);
}

async function assertEmptyEnough(
  folder: string,
  entries: readonly string[],
  files: readonly ProjectFile[],
): Promise<void> {
  const isInterrupted = entries.some(isStagingName);
  const inTheWay: string[] = [];
  for (const entry of entries) {
    if (isStagingName(entry) || HARMLESS.has(entry)) continue;
    // Whole files of an init that was killed are its own.
    if (
      isInterrupted &&
      (await isSameFile(
        folder,
        files.find(({ name }) => name === entry),
      ))
    )
      continue;
    inTheWay.push(entry);
  }
  if (inTheWay.length === 0) return;
  throw new WrongUseError(
    `${folder} is not empty: it has ${listed(inTheWay)}. Nothing was written; use an empty folder, or name a new one: \`pawl init my-agent\`.`,
    { folder, inTheWay },
  );
}

async function isSameFile(folder: string, file: ProjectFile | undefined): Promise<boolean> {
  if (file === undefined) return false;
  return (await readFile(join(folder, file.name), "utf8")) === file.text;
}

/** A new folder appears with all of its files at once. */
async function writeNewFolder(folder: string, files: readonly ProjectFile[]): Promise<WrittenProject> {
  const parent = dirname(folder);
  const names = files.map(({ name }) => name);
  const made = await mkdir(parent, { recursive: true });
  let staging: string | null = null;
  try {
    staging = await makeStagingFolder(parent, names);
    for (const { name, text } of files) await writeFile(join(staging, name), text, { flag: "wx" });
    await rename(staging, folder);
  } catch (error) {
    if (staging !== null) await removeStagingFolder(staging, names);
    if (made !== undefined) await removeEmptyFolders(parent, made);
    throw error;
  }
  return { written: names, kept: [] };
}

/**
 * Removes the folders from `inner` up to `outer` that are empty. Never with what is in them: another program may have
 * written its files there since they were made.
 */
async function removeEmptyFolders(inner: string, outer: string): Promise<void> {
  try {
    for (let folder = inner; ; folder = dirname(folder)) {
      await rmdir(folder);
      if (folder === outer) return;
    }
  } catch {
    // It is not empty, so it stays, with all that it is in.
  }
}

async function writeIntoFolder(
  folder: string,
  entries: readonly string[],
  files: readonly ProjectFile[],
): Promise<WrittenProject> {
  const missing = files.filter(({ name }) => !entries.includes(name));
  const names = files.map(({ name }) => name);
  const placed: string[] = [];
  const staging = await makeStagingFolder(folder, names);
  try {
    for (const { name, text } of missing) await writeFile(join(staging, name), text, { flag: "wx" });
    for (const { name } of missing) {
      await place(join(staging, name), join(folder, name));
      placed.push(join(folder, name));
    }
  } catch (error) {
    for (const file of placed) await rm(file, { force: true });
    await removeStagingFolder(staging, names);
    throw error;
  }
  await removeStagingFolder(staging, names);
  const kept = names.filter((name) => entries.includes(name));
  return { written: missing.map(({ name }) => name), kept };
}

/** Gives a complete file its name, and fails if the name is taken. Some file systems have no hard links. */
async function place(staged: string, file: string): Promise<void> {
  try {
    await link(staged, file);
  } catch (error) {
    if (errorCode(error) === "EEXIST") throw error;
    await copyFile(staged, file, constants.COPYFILE_EXCL);
  }
}

/** The code of a file system's error; null for every other error. */
function errorCode(error: unknown): string | null {
  if (!(error instanceof Error && "syscall" in error && "code" in error)) return null;
  return typeof error.code === "string" ? error.code : null;
}

/** The first few names, and how many more there are. */
function listed(names: readonly string[]): string {
  const shown = names.slice(0, 5);
  const more = names.length - shown.length;
  const all = more > 0 ? [...shown, `${more} more`] : shown;
  return all.length < 2 ? all.join("") : `${all.slice(0, -1).join(", ")} and ${all.at(-1)}`;
}
