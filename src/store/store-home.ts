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

/** Refuses a missing database: a reader must not leave an empty one behind, whose answer would be "no runs". */
export function assertThere(file: string): void {
  if (file === ":memory:" || existsSync(file)) return;
  throw new StoreUnavailableError(
    `There is no database at ${file}: check the address, or open it without readOnly to create it.`,
    { reason: "missing" },
  );
}

/** Creates the missing folders of a database, private to their owner. The default store's is also ignored by git. */
export function makeFolders(file: string): void {
  const folder = dirname(file);
  if (file === ":memory:" || existsSync(folder)) return;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (isInHome(file)) writeFileSync(join(folder, ".gitignore"), "*\n", { flag: "wx", mode: 0o600 });
  } catch (error) {
    // Another process was faster.
    if (codeOf(error) === "EEXIST") return;
    throw new StoreUnavailableError(
      `The folder of the database ${file} cannot be created (${codeOf(error) ?? String(error)}): create it, or name another file.`,
      { reason: "cannot_open" },
      { cause: error },
    );
  }
}

function isInHome(file: string): boolean {
  return basename(dirname(file)) === HOME;
}
