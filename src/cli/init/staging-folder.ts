import { lstat, mkdir, readdir, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";

/** Where the files of a project are written first: a folder of this process beside or in the project. */
const NAME = /^\.pawl-init(?:-(\d+))?$/;

/** A process that writes for longer than this is stopped or dead: an init takes less than a second. */
const LONGEST_INIT_MS = 10 * 60_000;

export function isStagingName(name: string): boolean {
  return NAME.test(name);
}

/** Makes the staging folder of this process in this folder, and removes what killed processes left there. */
export async function makeStagingFolder(parent: string, fileNames: readonly string[]): Promise<string> {
  for (const name of await readdir(parent)) {
    if (await isLeftover(parent, name)) await removeStagingFolder(join(parent, name), fileNames);
  }
  const staging = join(parent, `.pawl-init-${process.pid}`);
  await mkdir(staging);
  return staging;
}

async function isLeftover(parent: string, name: string): Promise<boolean> {
  const found = NAME.exec(name);
  if (found === null) return false;
  const pid = Number(found[1] ?? 0);
  if (pid === 0 || pid === process.pid || !isAlive(pid)) return true;
  // The number may have been given to another process since.
  const { mtimeMs } = await lstat(join(parent, name));
  return Date.now() - mtimeMs > LONGEST_INIT_MS;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It exists, and belongs to another user.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** Removes the project's files in it, and the folder if nothing else is in it: somebody may have put a file there. */
export async function removeStagingFolder(staging: string, fileNames: readonly string[]): Promise<void> {
  try {
    for (const name of fileNames) await rm(join(staging, name), { force: true });
    await rmdir(staging);
  } catch {
    // A folder that cannot be removed does not keep the project from being written.
  }
}
