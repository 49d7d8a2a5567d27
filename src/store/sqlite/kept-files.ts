import { type BigIntStats, statSync } from "node:fs";
import { StoreUnavailableError } from "../../core/errors.ts";

/**
 * The database and its log, as they were when they were opened. A database that was deleted, replaced or moved, or whose
 * log was removed by a program that believed itself alone, takes commits into files without a name: nobody will ever find
 * those again. They are looked at by their names alone; nothing opens them, since closing a descriptor of a file frees the
 * locks that SQLite has on it.
 */
export class KeptFiles {
  readonly #database: string;
  readonly #log: string;
  readonly #databaseId: string | null;
  #logId: string | null;

  constructor(database: string) {
    this.#database = database;
    this.#log = `${database}-wal`;
    this.#databaseId = idOf(statOf(database));
    this.#logId = idOf(statOf(this.#log));
  }

  /** Throws unless both are still the files that have those names. Gives the size of the log. */
  assertSame(when: "before" | "after"): number {
    const log = statOf(this.#log);
    if (idOf(statOf(this.#database)) !== this.#databaseId) throw displaced(this.#database, when);
    // Made with the first write; from then on nobody removes it.
    this.#logId ??= idOf(log);
    if (idOf(log) !== this.#logId) throw displaced(this.#log, when);
    return log === undefined ? 0 : Number(log.size);
  }
}

function statOf(file: string): BigIntStats | undefined {
  return statSync(file, { bigint: true, throwIfNoEntry: false });
}

function idOf(stat: BigIntStats | undefined): string | null {
  return stat === undefined ? null : `${stat.dev}:${stat.ino}`;
}

function displaced(file: string, when: "before" | "after"): StoreUnavailableError {
  const written = when === "before" ? "the last writes" : "this write and those before it";
  return new StoreUnavailableError(
    `The file ${file} was deleted, moved or replaced while this process had it open, so nobody knows whether ${written} can be found again: stop every process that uses it, put the file back (or restore a backup), run \`pawl verify\`, and look before you do anything again.`,
    { reason: "commit_unknown" },
  );
}
