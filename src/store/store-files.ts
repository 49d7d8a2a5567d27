import { type BigIntStats, realpathSync } from "node:fs";
import { lstat, readdir, realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/**
 * The files of a database, which nobody but the store may open: a POSIX lock is freed when any descriptor of its file is
 * closed in the same process, so a tool that only reads one takes the store's locks away. Nothing is opened here.
 */
export class StoreFiles {
  readonly #database: string | null;

  /** Of a database that is there. Links to it are followed: its sidecar files are beside it. One in memory has no files. */
  constructor(file: string) {
    this.#database = file === ":memory:" ? null : realpathSync(file);
  }

  /** Whether the path leads to one of them, or would make one: by its name beside the database, or by a hard link. */
  async has(path: string): Promise<boolean> {
    const place = this.#database === null ? null : await placeOf(path);
    if (this.#database === null || place === null) return false;
    const [folder, name] = [dirname(this.#database), basename(this.#database)];
    if (isOwnName(basename(place), name) && (await isSame(dirname(place), folder))) return true;
    const found = await stats(place);
    if (found === null || !found.isFile() || found.nlink < 2n) return false;
    for (const each of await readdir(folder).catch(() => [])) {
      const own = isOwnName(each, name) ? await stats(join(folder, each)) : null;
      if (own !== null && own.dev === found.dev && own.ino === found.ino) return true;
    }
    return false;
  }
}

/** In any case of letters: some file systems make no difference. */
function isOwnName(name: string, database: string): boolean {
  const [given, own] = [name.toLowerCase(), database.toLowerCase()];
  return given === own || given.startsWith(`${own}-`);
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
