import type { Stats } from "node:fs";
import { lstat, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { currentUser, isForeign, isSticky, otherWriters } from "./file-owner.ts";
import { linkHops } from "./link-hops.ts";

/**
 * Why another user of this machine could have written a configuration; null where nobody else could. It is run, so this is asked
 * before it is read. A file that was named (`--config`) may belong to another user, for it was chosen; one that was found may not.
 */
export async function ownerProblem(path: string, found: "found" | "named"): Promise<string | null> {
  const user = currentUser();
  if (user === null) return null;
  const file = await realpath(path);
  // Where the file is a link, who writes the folder of either decides what is run.
  for (const folder of new Set([dirname(path), dirname(file)])) {
    const problem = folderProblem(folder, await stat(folder), user, found);
    if (problem !== null) return problem;
  }
  for (const link of await linkHops(path)) {
    const problem = await linkProblem(link, user, found);
    if (problem !== null) return problem;
  }
  return fileProblem(file, await stat(file), user, found);
}

function fileProblem(path: string, stats: Stats, user: number, found: "found" | "named"): string | null {
  if (found === "found" && isForeign(stats, user)) return foreign(path, stats);
  const who = otherWriters(stats, user);
  return who === null
    ? null
    : `${path} can be written by ${who}: \`chmod go-w\` it, and look at what it says`;
}

function folderProblem(path: string, stats: Stats, user: number, found: "found" | "named"): string | null {
  const who = otherWriters(stats, user);
  // In a sticky folder nobody replaces the file of another, so one that was named there is the one that was meant.
  const isSafe = who === null || (found === "named" && isSticky(stats));
  if (!isSafe)
    return `${path} can be written by ${who}, who could put a configuration there: keep it in a folder of your own (\`chmod go-w\`)`;
  return found === "found" && isForeign(stats, user) ? foreign(path, stats) : null;
}

/** A link on the way is its owner's, and that of whoever may replace it. Where everybody puts links, nobody has chosen another user's. */
async function linkProblem(link: string, user: number, found: "found" | "named"): Promise<string | null> {
  const [stats, folder] = [await lstat(link), await stat(dirname(link))];
  const who = otherWriters(folder, user);
  if (isForeign(stats, user) && (found === "found" || who !== null))
    return `it is reached by ${link}, a link of another user (${stats.uid}): name the file that it leads to with --config where you trust them`;
  return who === null || isSticky(folder)
    ? null
    : `it is reached by the link ${link}, which ${who} could replace: \`chmod go-w\` its folder, or name the file that it leads to`;
}

function foreign(path: string, { uid }: Stats): string {
  return `${path} belongs to another user (${uid}): name the file with --config where you trust them`;
}
