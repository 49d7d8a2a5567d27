import { existsSync, lstatSync, mkdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import type { Environment } from "../../core/job/blueprint-environment.ts";
import { codeOf } from "../../store/guarded-folder.ts";
import { currentUser, isProtected, otherWriters } from "./file-owner.ts";

/** The XDG base directories of a user: their variables and defaults. */
const BASES = {
  cache: { variable: "XDG_CACHE_HOME", below: ".cache" },
  state: { variable: "XDG_STATE_HOME", below: ".local/state" },
} as const;

/**
 * Pawl's folder in the user's cache or state directory, created if missing; null if other users can write it. Its content is
 * trusted, so a folder that another user could have created is not used.
 */
export function privateFolder(kind: keyof typeof BASES, name: string, env: Environment): string | null {
  const { variable, below } = BASES[kind];
  const given = env[variable] ?? "";
  const home = homeFolder(env);
  if (!isAbsolute(given) && home === null) return null;
  const own = join(isAbsolute(given) ? given : join(home ?? "", below), "pawl");
  const folder = join(own, name);
  try {
    return ensureSafe(dirname(own)) && [own, folder].every(ensureOwn) ? folder : null;
  } catch {
    return null;
  }
}

/** The home folder of the current user; null if there is none. */
export function homeFolder(env: Environment): string | null {
  try {
    const home = env.HOME ?? homedir();
    return isAbsolute(home) ? home : null;
  } catch {
    // A user id without an account has no home folder.
    return null;
  }
}

/** Creates nothing in a folder that another user controls: root running with a user's HOME leaves no files there. */
function ensureSafe(base: string): boolean {
  let above = base;
  while (!existsSync(above)) above = dirname(above);
  if (!isSafe(above)) return false;
  mkdirSync(base, { recursive: true, mode: 0o700 });
  return isSafe(base);
}

function isSafe(folder: string): boolean {
  const user = currentUser();
  return user === null || isProtected(statSync(folder), user);
}

/** Creates the folder if missing. False for a symlink, or if another user can write it. */
function ensureOwn(folder: string): boolean {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
  const stats = lstatSync(folder);
  const user = currentUser();
  if (!stats.isDirectory() || user === null) return stats.isDirectory();
  return stats.uid === user && otherWriters(stats, user) === null;
}
