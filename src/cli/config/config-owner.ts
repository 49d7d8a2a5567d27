import type { Stats } from "node:fs";
import { lstat, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { currentUser, isForeign, isSticky, otherWriters } from "./file-owner.ts";
import { pathSymlinks } from "./path-symlinks.ts";

/**
 * Why another user of this machine could have written a configuration; null if no other user could. The file is executed, so this is
 * checked before it is read. A file named with `--config` may belong to another user, since it was chosen; one that was found may not.
 */
export async function ownerProblem(path: string, found: "found" | "named"): Promise<string | null> {
  const user = currentUser();
  if (user === null) return null;
  const file = await realpath(path);
  // If the file is a symlink, write access to either folder decides what is run.
  for (const folder of new Set([dirname(path), dirname(file)])) {
    const problem = folderProblem(folder, await stat(folder), user, found);
    if (problem !== null) return problem;
  }
  for (const link of await pathSymlinks(path)) {
    const problem = await linkProblem(link, user, found);
    if (problem !== null) return problem;
  }
  return fileProblem(file, await stat(file), user, found);
}

function fileProblem(path: string, stats: Stats, user: number, found: "found" | "named"): string | null {
  if (found === "found" && isForeign(stats, user)) return foreign(path, stats);
  const who = otherWriters(stats, user);
  return who === null ? null : `${path} can be written by ${who}: \`chmod go-w\` it, and check its content`;
}

function folderProblem(path: string, stats: Stats, user: number, found: "found" | "named"): string | null {
  const who = otherWriters(stats, user);
  // In a sticky folder users cannot replace each other's files, so a file named there is the intended one.
  const isSafe = who === null || (found === "named" && isSticky(stats));
  if (!isSafe)
    return `${path} can be written by ${who}, who could put a configuration there: keep it in a folder of your own (\`chmod go-w\`)`;
  return found === "found" && isForeign(stats, user) ? foreign(path, stats) : null;
}

/** A symlink is controlled by its owner and by everyone who may replace it. In a shared folder, another user's link was not chosen. */
async function linkProblem(link: string, user: number, found: "found" | "named"): Promise<string | null> {
  const [stats, folder] = [await lstat(link), await stat(dirname(link))];
  const who = otherWriters(folder, user);
  if (isForeign(stats, user) && (found === "found" || who !== null))
    return `it is reached through ${link}, a symlink of another user (${stats.uid}): if you trust them, name the target file with --config`;
  return who === null || isSticky(folder)
    ? null
    : `it is reached through the symlink ${link}, which ${who} could replace: \`chmod go-w\` its folder, or name the target file`;
}

function foreign(path: string, { uid }: Stats): string {
  return `${path} belongs to another user (${uid}): if you trust them, name the file with --config`;
}
