import { lstat, readFile, realpath, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { ConfigurationError } from "../../core/errors.ts";
import type { Surroundings } from "../context/cli-context.ts";
import { ownerProblem } from "./config-owner.ts";
import { currentUser, isForeign } from "./file-owner.ts";
import { homeFolder } from "./private-folder.ts";

/** A configuration that is there, not read yet; `refusal` says why it is not to be run. */
export type FoundConfig = { readonly path: string; readonly refusal: string | null };

const FILE_NAMES = ["pawl.config.ts", "pawl.config.mts", "pawl.config.js", "pawl.config.mjs"] as const;

/** The file that was named, or the nearest `pawl.config.*` in the working directory or above it, as far as the project reaches. */
export async function findConfig(surroundings: Surroundings, file?: string): Promise<FoundConfig | null> {
  const path =
    file === undefined ? await nearestConfig(surroundings) : await namedConfig(surroundings.cwd, file);
  if (path === null) return null;
  return { path, refusal: await ownerProblem(path, file === undefined ? "found" : "named") };
}

/** Where the project of a folder ends; null where nothing says so. */
export async function projectTop({ cwd, env }: Surroundings): Promise<string | null> {
  return topOf(await upwards(cwd, homeFolder(env)));
}

/**
 * At the repository, else at the first package, or at the workspace that this is part of. And nowhere above home: what lies there is
 * no project of this user. What another user has put into a folder above says nothing.
 */
async function topOf(folders: readonly string[]): Promise<string | null> {
  for (const folder of folders) if ((await ownKindOf(join(folder, ".git"))) !== "absent") return folder;
  let first: string | null = null;
  for (const folder of folders) {
    if ((await ownKindOf(join(folder, "package.json"))) !== "file") continue;
    if (first !== null && (await isWorkspace(folder))) return folder;
    first ??= folder;
  }
  return first;
}

async function nearestConfig({ cwd, env }: Surroundings): Promise<string | null> {
  const folders = await upwards(cwd, homeFolder(env));
  const top = await topOf(folders);
  for (const folder of folders) {
    for (const name of FILE_NAMES) {
      const path = join(folder, name);
      if ((await kindOf(path)) === "file") return path;
    }
    if (folder === top) return null;
  }
  return null;
}

/** A folder and all above it, to its root or to home where that is on the way. */
async function upwards(folder: string, home: string | null): Promise<readonly string[]> {
  const ends = home === null ? [] : [home, await realpath(home).catch(() => home)];
  const folders = [folder];
  for (let last = folder; !ends.includes(last) && last !== dirname(last); folders.push(last))
    last = dirname(last);
  return folders;
}

async function isWorkspace(folder: string): Promise<boolean> {
  if ((await ownKindOf(join(folder, "pnpm-workspace.yaml"))) === "file") return true;
  try {
    const manifest: unknown = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    return typeof manifest === "object" && manifest !== null && "workspaces" in manifest;
  } catch {
    return false;
  }
}

async function namedConfig(cwd: string, file: string): Promise<string> {
  const path = resolve(cwd, file);
  const kind = await kindOf(path);
  if (kind === "file") return path;
  throw new ConfigurationError(
    kind === "absent"
      ? `There is no configuration file at ${file}: check --config.`
      : `${file} is no file: give --config the file itself, such as ${join(file, FILE_NAMES[0])}.`,
  );
}

type Kind = "file" | "absent" | "other";

/** The same, and absent where it is another user's. */
async function ownKindOf(path: string): Promise<Kind> {
  const user = currentUser();
  const stats = await lstat(path).catch(() => null);
  return stats === null || (user !== null && isForeign(stats, user)) ? "absent" : kindOf(path);
}

async function kindOf(path: string): Promise<Kind> {
  try {
    return (await stat(path)).isFile() ? "file" : "other";
  } catch {
    return "absent";
  }
}
