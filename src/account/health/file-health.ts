import { constants, existsSync } from "node:fs";
import { access, stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { byteText } from "../../export/figures.ts";
import { isBelow, realPath } from "../../store/guarded-folder.ts";
import { failed, type Health, ok, problem } from "./health.ts";

const LITTLE_SPACE_BYTES = 100_000_000;

/** A folder that tools work in, and the owner of those tools. */
export type WorkFolder = { readonly folder: string; readonly whose: string };

/** The checks of the file of a database and of its place. Each fails on its own: a file may be deleted while it is open. */
export async function fileHealth(file: string, folders: readonly WorkFolder[]): Promise<readonly Health[]> {
  const checks = { disk: diskHealth, rights: rightsHealth, place: () => placeHealth(file, folders) };
  const found: Health[] = [];
  for (const [name, check] of Object.entries(checks))
    found.push(await check(file).catch((error: unknown) => failed(name, error)));
  return found;
}

/** The folder must be writable: SQLite creates files beside the database. */
export async function diskHealth(file: string): Promise<Health> {
  const folder = existingFolder(dirname(file));
  try {
    await access(folder, constants.W_OK);
  } catch {
    const remedy = "make it writable, or name another location with --store";
    return problem("disk", "fail", `${folder} cannot be written to`, remedy);
  }
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  return free < LITTLE_SPACE_BYTES
    ? problem("disk", "warn", `${folder} has ${byteText(free)} left`, "free some space, or run `pawl gc`")
    : ok("disk", `${folder} can be written to and has ${byteText(free)} left`);
}

/** The database holds what people and tools wrote: readers see all of it, and writers can forge decisions. */
async function rightsHealth(file: string): Promise<Health> {
  const { mode } = await stat(file);
  const others = mode & 0o066;
  if (others === 0 || process.platform === "win32")
    return ok("rights", `${file} is accessible to its owner only`);
  const what = `${file} can be ${(others & 0o022) === 0 ? "read" : "read or changed"} by other users of this machine`;
  return problem("rights", "warn", what, `unless you share it on purpose: chmod 600 ${file}*`);
}

/** The folder, or the nearest one above it that exists: the first run creates the rest. */
function existingFolder(folder: string): string {
  const above = dirname(folder);
  return existsSync(folder) || above === folder ? folder : existingFolder(above);
}

/** Checks that no tool works in the store's folder: what tools search, copy or clean up there could be the store. */
export async function placeHealth(file: string, folders: readonly WorkFolder[]): Promise<Health> {
  const storeFolder = (await realPath(dirname(file))) ?? dirname(file);
  for (const { folder, whose } of folders) {
    if (!isBelow((await realPath(folder)) ?? folder, storeFolder)) continue;
    const remedy =
      "keep the store in a separate folder: while no process has it open, move all files whose names start with the database's, and name the new location with --store or `store` in pawl.config.ts";
    return problem("place", "warn", `the store is in ${folder}, where ${whose} works`, remedy);
  }
  return ok("place", "no known tool works in the folder of the store");
}
