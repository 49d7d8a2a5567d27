import type { BigIntStats } from "node:fs";
import { lstat, readdir, realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/**
 * The files of a database, which nobody but the store may open: a POSIX lock is freed when any descriptor of its file is
 * closed in the same process, so a tool that only reads one takes the store's locks away. Nothing is opened here.
 */
export class StoreFiles {
  readonly #database: string;

  /** The database, links followed: its sidecar files are beside it. */
  constructor(database: string) {
    this.#database = database;
  }

  /** Whether the path leads to one of them, or would make one: by its name beside the database, or by a hard link. */
  async has(path: string): Promise<boolean> {
    const place = await placeOf(path);
    if (place === null) return false;
    if (this.#isName(basename(place)) && (await isSame(dirname(place), dirname(this.#database)))) return true;
    const found = await stats(place);
    return found !== null && found.isFile() && found.nlink > 1n && (await this.#isLinked(found));
  }

  /** In any case of letters: some file systems make no difference. */
  #isName(name: string): boolean {
    const [given, own] = [name.toLowerCase(), basename(this.#database).toLowerCase()];
    return given === own || given.startsWith(`${own}-`);
  }

  async #isLinked(found: BigIntStats): Promise<boolean> {
    const folder = dirname(this.#database);
    for (const name of await readdir(folder).catch(() => [])) {
      if (!this.#isName(name)) continue;
      const own = await stats(join(folder, name));
      if (own !== null && own.dev === found.dev && own.ino === found.ino) return true;
    }
    return false;
  }
}

/** Where a path leads, whether there is something or not; null where not even its folder is. */
async function placeOf(path: string): Promise<string | null> {
  const place = await realpath(path).catch(() => null);
  if (place !== null) return place;
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
