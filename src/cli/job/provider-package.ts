import { existsSync, lstatSync, realpathSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { isBelow } from "../../store/guarded-folder.ts";
import { currentUser, EVERY_USER, isForeign, isSticky, otherWriters } from "../config/file-owner.ts";

/** Where to search the operator's packages: from the folder of the configuration up to the top of its project. */
export type PackageSearch = {
  /** The configuration; its author is trusted, since it is executed. */
  readonly config: string;
  readonly top: string;
};

export type FoundPackage =
  | { readonly path: string }
  /** Why the packages that were found are not used; empty if none was found. */
  | { readonly path: null; readonly refusals: readonly string[] };

/**
 * Finds a package beside the configuration or above it, up to the top of its project; else beside Pawl or above it. A package is
 * code, so one that another user could have put there is skipped.
 */
export function findPackage(name: string, packages: PackageSearch | null): FoundPackage {
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

/** The entry file of the package in this folder only: Node would also search further up. */
function entryIn(folder: string, name: string): string | null {
  const packageFolder = join(folder, "node_modules", name);
  if (!existsSync(packageFolder)) return null;
  try {
    const path = createRequire(join(folder, "job.yaml")).resolve(name);
    return isBelow(realpathSync(packageFolder), path) ? path : null;
  } catch {
    return null;
  }
}

/** Why another user could have put it there: checks its folders and all above them, as found and with symlinks resolved. */
function packageProblem(
  folder: string,
  name: string,
  path: string,
  trusted: readonly number[],
): string | null {
  const user = currentUser();
  if (user === null) return null;
  const packageFolder = join(folder, "node_modules", name);
  const ways = [...foldersUp(path, null), ...foldersUp(dirname(packageFolder), null)].map(
    (each) => [each, statSync(each)] as const,
  );
  for (const [each, stats] of [[packageFolder, lstatSync(packageFolder)] as const, ...ways]) {
    if (isForeign(stats, user) && !trusted.includes(stats.uid))
      return `${each} belongs to another user (${stats.uid})`;
    // A symlink has no permissions of its own. In a sticky folder users cannot replace each other's files.
    const who = stats.isSymbolicLink() || isSticky(stats) ? null : otherWriters(stats, user);
    // Above the packages, a group is usually that of the system (staff in /usr/local) or of a team.
    if (who !== null && (who === EVERY_USER || !isBelow(each, folder)))
      return `${each} can be written by ${who}`;
  }
  return null;
}
