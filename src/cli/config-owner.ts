import type { Stats } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";

const GROUP_WRITES = 0o020;
const OTHERS_WRITE = 0o002;
const STICKY = 0o1000;

/**
 * Why another user of this machine could have written a configuration; null where nobody else could. It is run, so this is asked
 * before it is read. A file that was named (`--config`) may belong to another user, for it was chosen; one that was found may not.
 */
export async function ownerProblem(path: string, found: "found" | "named"): Promise<string | null> {
  const user = process.geteuid?.();
  // Windows has no such ids, and closes the folders of a user to others by itself.
  if (user === undefined) return null;
  const file = await realpath(path);
  // Where the file is a link, who writes the folder of either decides what is run.
  for (const folder of new Set([dirname(path), dirname(file)])) {
    const problem = folderProblem(folder, await stat(folder), user, found);
    if (problem !== null) return problem;
  }
  return fileProblem(file, await stat(file), user, found);
}

function fileProblem(path: string, stats: Stats, user: number, found: "found" | "named"): string | null {
  if (found === "found" && isForeign(stats, user)) return foreign(path, stats);
  const who = writers(stats, user);
  return who === null
    ? null
    : `${path} can be written by ${who}: \`chmod go-w\` it, and look at what it says`;
}

function folderProblem(path: string, stats: Stats, user: number, found: "found" | "named"): string | null {
  const who = writers(stats, user);
  // In a sticky folder (/tmp) nobody replaces the file of another, so one that was named there is the one that was meant.
  const isSafe = who === null || (found === "named" && (stats.mode & STICKY) !== 0);
  if (!isSafe)
    return `${path} can be written by ${who}, who could put a configuration there: keep it in a folder of your own (\`chmod go-w\`)`;
  return found === "found" && isForeign(stats, user) ? foreign(path, stats) : null;
}

function isForeign({ uid }: Stats, user: number): boolean {
  return uid !== user && uid !== 0;
}

function foreign(path: string, { uid }: Stats): string {
  return `${path} belongs to another user (${uid}): name the file with --config where you trust them`;
}

/** The group that has the number of its user is that user's own; that of root is trusted as root is. */
function writers({ mode, gid }: Stats, user: number): string | null {
  if ((mode & OTHERS_WRITE) !== 0) return "every user";
  return (mode & GROUP_WRITES) !== 0 && gid !== user && gid !== 0 ? `the group ${gid}` : null;
}
