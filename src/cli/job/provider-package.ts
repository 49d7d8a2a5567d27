import { existsSync, lstatSync, realpathSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { isBelow } from "../../store/guarded-folder.ts";
import { currentUser, EVERY_USER, isForeign, isSticky, otherWriters } from "../config/file-owner.ts";

/** Where the operator's packages are: from the folder of the configuration up to the top of its project. */
export type PackagePlace = {
  /** The configuration; whoever wrote it is trusted, for it is run. */
  readonly config: string;
  readonly top: string;
};

export type FoundPackage =
  | { readonly path: string }
  /** Why those that are there were not taken; none where none is there. */
  | { readonly path: null; readonly refusals: readonly string[] };

/**
 * Where a package is: beside the configuration or above it, no further than its project reaches; and else beside Pawl or above it. It
 * is code, so one that another user could have put there is passed over.
 */
export function findPackage(name: string, packages: PackagePlace | null): FoundPackage {
  const folders = [
    ...(packages === null ? [] : foldersUp(dirname(packages.config), packages.top)),
    ...foldersUp(import.meta.dirname, null),
  ];
  const trusted = [import.meta.dirname, "/", ...(packages === null ? [] : [packages.config])];
  const owners = trusted.map((path) => statSync(path).uid);
  const refusals: string[] = [];
  for (const folder of new Set(folders)) {
    const path = entryIn(folder, name);
    if (path === null) continue;
    const problem = packageProblem(folder, name, path, owners);
    if (problem === null) return { path };
    refusals.push(`${path} was not loaded: ${problem}`);
  }
  return { path: null, refusals };
}

function foldersUp(folder: string, top: string | null): readonly string[] {
  const folders = [folder];
  for (let last = folder; last !== top && last !== dirname(last); folders.push(last)) last = dirname(last);
  return folders;
}

/** The file that is imported, where the package is in this folder itself: Node would look further up as well. */
function entryIn(folder: string, name: string): string | null {
  const place = join(folder, "node_modules", name);
  if (!existsSync(place)) return null;
  try {
    const path = createRequire(join(folder, "job.yaml")).resolve(name);
    return isBelow(realpathSync(place), path) ? path : null;
  } catch {
    return null;
  }
}

/** Who else could have put it there: looked at in its folders and in all above them, as it was found and as it really is. */
function packageProblem(
  folder: string,
  name: string,
  path: string,
  trusted: readonly number[],
): string | null {
  const user = currentUser();
  if (user === null) return null;
  const place = join(folder, "node_modules", name);
  const ways = [...foldersUp(path, null), ...foldersUp(dirname(place), null)].map(
    (each) => [each, statSync(each)] as const,
  );
  for (const [each, stats] of [[place, lstatSync(place)] as const, ...ways]) {
    if (isForeign(stats, user) && !trusted.includes(stats.uid))
      return `${each} belongs to another user (${stats.uid})`;
    // A link has no rights of its own. In a sticky folder nobody replaces what is another's.
    const who = stats.isSymbolicLink() || isSticky(stats) ? null : otherWriters(stats, user);
    // Above the packages, a group is that of a system (staff in /usr/local) or of a team.
    if (who !== null && (who === EVERY_USER || !isBelow(each, folder)))
      return `${each} can be written by ${who}`;
  }
  return null;
}
