import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { StoreUnavailableError } from "../core/errors.ts";
import { codeOf } from "./guarded-folder.ts";

/** The folder of the default store, and the file in it. Earlier versions had the file beside the folder. */
const HOME = ".pawl";
const DATABASE = "pawl.db";

export const DEFAULT_STORE = `file:./${HOME}/${DATABASE}`;

/**
 * Refuses to start with an empty store if there is one from an earlier version: its runs would seem to be gone, and
 * their effects would be repeated.
 */
export function assertNotMoved(file: string): void {
  if (!isInHome(file) || basename(file) !== DATABASE || existsSync(file)) return;
  const earlier = join(dirname(dirname(file)), DATABASE);
  if (!existsSync(earlier)) return;
  throw new StoreUnavailableError(
    `There is no database at ${file}, and one at ${earlier}, where the default store was before: while no process has it open, move it with all files whose names begin with its own (\`mkdir -p ${HOME} && mv ${DATABASE}* ${HOME}/\`), or name it, --store file:./${DATABASE}.`,
    { reason: "moved" },
  );
}

/**
 * Creates the folder of the default store if missing: private to its owner, and ignored by git. Creates no other
 * folder.
 */
export function makeHome(file: string): void {
  if (!isInHome(file) || existsSync(dirname(file))) return;
  try {
    mkdirSync(dirname(file), { mode: 0o700 });
    writeFileSync(join(dirname(file), ".gitignore"), "*\n", { flag: "wx", mode: 0o600 });
  } catch (error) {
    // Another process was faster; opening the database reports any other problem.
    if (codeOf(error) !== "EEXIST" && codeOf(error) !== "ENOENT") throw error;
  }
}

function isInHome(file: string): boolean {
  return basename(dirname(file)) === HOME;
}
