import { lstat, readFile, realpath, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { ConfigurationError } from "../../core/errors.ts";
import type { CliEnvironment } from "../context/cli-context.ts";
import { ownerProblem } from "./config-owner.ts";
import { currentUser, isForeign } from "./file-owner.ts";
import { homeFolder } from "./private-folder.ts";

/** An existing configuration, not read yet; `refusal` is the reason why it must not be run. */
export type FoundConfig = { readonly path: string; readonly refusal: string | null };

const FILE_NAMES = ["pawl.config.ts", "pawl.config.mts", "pawl.config.js", "pawl.config.mjs"] as const;

/** The named file, or the nearest `pawl.config.*` in the working directory or above it, up to the top of the project. */
export async function findConfig(cli: CliEnvironment, file?: string): Promise<FoundConfig | null> {
  const path = file === undefined ? await nearestConfig(cli) : await namedConfig(cli.cwd, file);
  if (path === null) return null;
  return { path, refusal: await ownerProblem(path, file === undefined ? "found" : "named") };
}

/** The top folder of the project that a folder belongs to; null if there is no sign of one. */
export async function projectTop({ cwd, env }: CliEnvironment): Promise<string | null> {
  return topOf(await upwards(cwd, homeFolder(env)));
}

/**
 * The repository; else the nearest package, or the workspace that contains it. Never above the home folder, where nothing is a project
 * of this user. Files that another user owns are ignored.
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

async function nearestConfig({ cwd, env }: CliEnvironment): Promise<string | null> {
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

/** A folder and its ancestors, up to the root or the home folder. */
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
      : `${file} is not a file: give --config the file itself, such as ${join(file, FILE_NAMES[0])}.`,
  );
}

type Kind = "file" | "absent" | "other";

/** Like `kindOf`, but another user's file counts as absent. */
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
