import { existsSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { sqlite } from "./node-sqlite.ts";
import { isBusy } from "./sqlite-error.ts";

/**
 * An exclusive lock on a small file, which is created if missing. The system frees it when the process dies, however
 * it dies. Node has no file locks of its own; an empty SQLite database does, and also keeps two holders inside one
 * process apart. Nothing else may open the file: closing any descriptor of it would free the lock.
 */
export class ProcessLock {
  readonly #connection: DatabaseSync;

  private constructor(connection: DatabaseSync) {
    this.#connection = connection;
  }

  /** Null if another holder has it, or removed it meanwhile. */
  static tryTake(file: string): ProcessLock | null {
    const connection = new sqlite.DatabaseSync(file, { timeout: 0 });
    try {
      // In memory: a lock has nothing to roll back, and a journal beside it would outlive a killed process.
      connection.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
      return new ProcessLock(connection);
    } catch (error) {
      connection.close();
      // A file that a sweep removes while it is being locked makes SQLite fail in fstat: no one holds that one.
      if (isBusy(error) || !existsSync(file)) return null;
      throw error;
    }
  }

  release(): void {
    this.#connection.close();
  }
}
