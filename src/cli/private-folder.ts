import { lstatSync, mkdirSync, type Stats, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import type { Environment } from "../core/blueprint-environment.ts";

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
    mkdirSync(dirname(own), { recursive: true, mode: 0o700 });
    for (const each of [own, folder]) makeFolder(each);
    return isSafeBase(dirname(own)) && isOwn(own) && isOwn(folder) ? folder : null;
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

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
}

const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;

/** No link, and nobody else may write there. Where users have no ids (Windows), their own folders are closed to others. */
function isOwn(folder: string): boolean {
  const stats = lstatSync(folder);
  const user = process.geteuid?.();
  return stats.isDirectory() && (user === undefined || (stats.uid === user && !isOpenToOthers(stats)));
}

/** Nobody else may put another folder in the place of ours. */
function isSafeBase(folder: string): boolean {
  const stats = statSync(folder);
  const user = process.geteuid?.();
  if (user === undefined) return true;
  return [user, 0].includes(stats.uid) && (!isOpenToOthers(stats) || (stats.mode & STICKY) !== 0);
}

function isOpenToOthers({ mode }: Stats): boolean {
  return (mode & WRITABLE_BY_OTHERS) !== 0;
}
