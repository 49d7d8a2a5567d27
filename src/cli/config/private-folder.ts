import { existsSync, lstatSync, mkdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import type { Environment } from "../../core/job/blueprint-environment.ts";
import { codeOf } from "../../store/guarded-folder.ts";
import { currentUser, keepsWhatIsInIt, otherWriters } from "./file-owner.ts";

/** Where a user keeps what programs note for themselves: the variables of the XDG base directories, and what they default to. */
const BASES = {
  cache: { variable: "XDG_CACHE_HOME", below: ".cache" },
  state: { variable: "XDG_STATE_HOME", below: ".local/state" },
} as const;

/**
 * A folder of Pawl's below the user's cache or state folder, made where it is missing; null where it is not the user's alone to
 * write. What is in it is believed, so a folder that another user could have put there is not used.
 */
export function privateFolder(kind: keyof typeof BASES, name: string, env: Environment): string | null {
  const { variable, below } = BASES[kind];
  const given = env[variable] ?? "";
  const home = homeFolder(env);
  if (!isAbsolute(given) && home === null) return null;
  const own = join(isAbsolute(given) ? given : join(home ?? "", below), "pawl");
  const folder = join(own, name);
  try {
    return isMade(dirname(own)) && [own, folder].every(isMadeOwn) ? folder : null;
  } catch {
    return null;
  }
}

/** The home of who runs the command; null where there is none. */
export function homeFolder(env: Environment): string | null {
  try {
    const home = env.HOME ?? homedir();
    return isAbsolute(home) ? home : null;
  } catch {
    // A user id without a name has no home.
    return null;
  }
}

/** Nothing is made where another user decides what becomes of it: root, with the home of somebody, leaves nothing of its own there. */
function isMade(base: string): boolean {
  let above = base;
  while (!existsSync(above)) above = dirname(above);
  if (!isSafe(above)) return false;
  mkdirSync(base, { recursive: true, mode: 0o700 });
  return isSafe(base);
}

function isSafe(folder: string): boolean {
  const user = currentUser();
  return user === null || keepsWhatIsInIt(statSync(folder), user);
}

/** Made where it is missing. No link, and nobody else may write there. */
function isMadeOwn(folder: string): boolean {
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
