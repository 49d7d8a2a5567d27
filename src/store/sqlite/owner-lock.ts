import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { ProcessLock } from "./process-lock.ts";

/**
 * A small file beside the database that this process holds an exclusive lock on for as long as it lives. The system
 * frees the lock when the process dies, however it dies, so whoever can take it knows that the owner is dead and
 * need not wait for its leases to run out.
 */
export class OwnerLock {
  /** Names this process in leases, for people too: host, process id, and the id of its lock file. */
  readonly owner: string;
  readonly #database: string;
  readonly #held: ProcessLock | null;

  private constructor(database: string, owner: string, held: ProcessLock | null) {
    this.#database = database;
    this.owner = owner;
    this.#held = held;
  }

  /** Beside the database itself, not beside a link to it: everybody has to look in the same place. */
  static take(path: string): OwnerLock {
    const database = path === ":memory:" ? path : realpathSync(path);
    for (;;) {
      const id = randomBytes(6).toString("hex");
      const owner = `${hostname()}/${process.pid}/${id}`;
      if (database === ":memory:") return new OwnerLock(database, owner, null);
      const file = lockFile(database, id);
      const held = ProcessLock.tryTake(file);
      // A sweep by another process may have removed the file between its creation and its lock: then take another.
      if (held !== null && existsSync(file)) return new OwnerLock(database, owner, held);
      held?.release();
    }
  }

  /**
   * Whether the process behind `owner` is known to be dead. A lock file that is not there, or cannot be read, says
   * nothing: then the lease has to run out.
   */
  isDead(owner: string): boolean {
    if (owner === this.owner || this.#held === null) return false;
    const id = idOf(owner);
    const probe = id === null ? null : tryProbe(lockFile(this.#database, id));
    probe?.close();
    return probe !== null;
  }

  /** Removes the lock files of dead processes. `beforeRemoval` frees what they still hold. */
  sweep(beforeRemoval: (lockId: string) => void): void {
    if (this.#held === null) return;
    const prefix = basename(lockFile(this.#database, ""));
    for (const name of readdirSync(dirname(this.#database))) {
      const id = name.slice(prefix.length);
      if (!name.startsWith(prefix) || !/^[0-9a-f]{12}$/.test(id) || id === idOf(this.owner)) continue;
      const file = join(dirname(this.#database), name);
      const probe = tryProbe(file);
      if (probe === null) continue;
      try {
        beforeRemoval(id);
        rmSync(file, { force: true });
      } finally {
        probe.close();
      }
    }
  }

  release(): void {
    if (this.#held === null) return;
    const id = idOf(this.owner);
    if (id !== null) rmSync(lockFile(this.#database, id), { force: true });
    this.#held.release();
  }
}

function lockFile(database: string, id: string): string {
  return `${database}-owner-${id}`;
}

function idOf(owner: string): string | null {
  return /\/([0-9a-f]{12})$/.exec(owner)?.[1] ?? null;
}

/**
 * Null when its owner lives, or when nobody can say. A shared lock, which an owner's exclusive one keeps out and two
 * who ask at the same time do not; read-only, so that asking makes no file and works across users.
 */
function tryProbe(file: string): DatabaseSync | null {
  let connection: DatabaseSync | undefined;
  try {
    connection = new DatabaseSync(file, { timeout: 0, readOnly: true });
    connection.exec("BEGIN; SELECT 1 FROM sqlite_schema");
    return connection;
  } catch {
    connection?.close();
    return null;
  }
}
