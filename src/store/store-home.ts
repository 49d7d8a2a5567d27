import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { StoreUnavailableError } from "../core/errors.ts";
import { codeOf } from "./guarded-folder.ts";

/** The folder of the default store, and the file in it. Before there was a folder, the file stood beside it. */
const HOME = ".pawl";
const DATABASE = "pawl.db";

export const DEFAULT_STORE = `file:./${HOME}/${DATABASE}`;

/**
 * Refuses to begin with an empty store where the one of an earlier version is: its runs would seem to be gone, and what they
 * have done would be done again.
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

/** Makes the folder of the default store where it is missing: for its owner alone, and not for a repository. No other folder. */
export function makeHome(file: string): void {
  if (!isInHome(file) || existsSync(dirname(file))) return;
  try {
    mkdirSync(dirname(file), { mode: 0o700 });
    writeFileSync(join(dirname(file), ".gitignore"), "*\n", { flag: "wx", mode: 0o600 });
  } catch (error) {
    // Another process was faster; what else is wrong, opening the database says.
    if (codeOf(error) !== "EEXIST" && codeOf(error) !== "ENOENT") throw error;
  }
}

function isInHome(file: string): boolean {
  return basename(dirname(file)) === HOME;
}
