import { dirname } from "node:path";
import { StoreUnavailableError } from "../../core/errors.ts";
import { FolderLook, idOf, statOf } from "./folder-look.ts";

/**
 * The database and its WAL, as they were when they were opened. If the database is deleted, replaced or moved, or its
 * WAL is removed by a program that believed itself alone, commits go into files without a name, which nothing will
 * ever find again. Only their names are checked: opening them is not safe, because closing a descriptor of a file
 * frees SQLite's locks on it.
 */
export class KeptFiles {
  readonly #folder: FolderLook;
  readonly #database: string;
  readonly #log: string;
  readonly #databaseId: string | null;
  #logId: string | null;

  constructor(database: string) {
    this.#folder = new FolderLook(dirname(database));
    this.#database = database;
    this.#log = `${database}-wal`;
    this.#databaseId = idAt(database);
    this.#logId = idAt(this.#log);
  }

  /** Throws unless both names still lead to the same files. */
  assertSame(when: "before" | "after"): void {
    this.#folder.isInPlace(() => {
      if (idAt(this.#database) !== this.#databaseId) throw displaced(this.#database, when);
      const log = idAt(this.#log);
      // Created with the first write; from then on it must stay.
      this.#logId ??= log;
      if (log !== this.#logId) throw displaced(this.#log, when);
      return this.#logId !== null;
    });
  }

  logSize(): number {
    return Number(statOf(this.#log)?.size ?? 0);
  }
}

function idAt(file: string): string | null {
  const stat = statOf(file);
  return stat === undefined ? null : idOf(stat);
}

function displaced(file: string, when: "before" | "after"): StoreUnavailableError {
  const written = when === "before" ? "the last writes" : "this write and those before it";
  return new StoreUnavailableError(
    `The file ${file} was deleted, moved or replaced while this process had it open, so ${written} may be lost: stop every process that uses it, put the file back (or restore a backup), run \`pawl verify\`, and check what was stored before you repeat anything.`,
    { reason: "commit_unknown" },
  );
}
