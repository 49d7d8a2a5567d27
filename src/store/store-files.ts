import { type BigIntStats, realpathSync } from "node:fs";
import { lstat, readdir, realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/**
 * The files of a database, which only the store may open: a POSIX lock is freed when any descriptor of its file is
 * closed in the same process, so a tool that merely reads one of them would drop the store's locks. Nothing is opened
 * here.
 */
export class StoreFiles {
  readonly #database: string | null;

  /**
   * For an existing database. Links to it are followed, because its sidecar files are beside the real file. A
   * database in memory has no files.
   */
  constructor(file: string) {
    this.#database = file === ":memory:" ? null : realpathSync(file);
  }

  /** True if the path leads to one of them, or would create one: by its name beside the database, or by a hard link. */
  async has(path: string): Promise<boolean> {
    const real = this.#database === null ? null : await realPathOf(path);
    if (this.#database === null || real === null) return false;
    const [folder, name] = [dirname(this.#database), basename(this.#database)];
    if (isOwnName(basename(real), name) && (await isSame(dirname(real), folder))) return true;
    const found = await stats(real);
    if (found === null || !found.isFile() || found.nlink < 2n) return false;
    for (const each of await readdir(folder).catch(() => [])) {
      const own = isOwnName(each, name) ? await stats(join(folder, each)) : null;
      if (own !== null && own.dev === found.dev && own.ino === found.ino) return true;
    }
    return false;
  }
}

/** Ignores case: some file systems do. */
function isOwnName(name: string, database: string): boolean {
  const [given, own] = [name.toLowerCase(), database.toLowerCase()];
  return given === own || given.startsWith(`${own}-`);
}

/** The real path, whether or not something exists there; null if not even its folder exists. */
async function realPathOf(path: string): Promise<string | null> {
  const existing = await realpath(path).catch(() => null);
  if (existing !== null) return existing;
  const folder = await realpath(dirname(path)).catch(() => null);
  return folder === null ? null : join(folder, basename(path));
}

async function isSame(folder: string, other: string): Promise<boolean> {
  if (folder === other) return true;
  const [a, b] = [await stats(folder), await stats(other)];
  return a !== null && b !== null && a.dev === b.dev && a.ino === b.ino;
}

function stats(path: string): Promise<BigIntStats | null> {
  return lstat(path, { bigint: true }).catch(() => null);
}
