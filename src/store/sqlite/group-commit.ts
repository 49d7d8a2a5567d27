import { StoreUnavailableError } from "../../core/errors.ts";
import type { Database } from "./database.ts";
import { isBusy, storeError } from "./sqlite-error.ts";

/** How long an intent waits for the write lock before it is refused. */
const BUSY_DEADLINE_MS = 30_000;
const BUSY_RETRY_MS = 10;

/** A transaction holds at most this many intents, so that one fsync never keeps everybody waiting for long. */
const MAX_BATCH = 1_000;

type Pending = {
  readonly intent: string;
  readonly work: () => unknown;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
  readonly since: number;
};

/** Told of every durable commit and the intents in it. For measuring. */
export type CommitObserver = (intents: readonly string[]) => void;

/**
 * Intents that arrive in the same tick share one transaction, each under its own savepoint: a hundred runs pay for
 * one fsync, and a refused intent takes nobody else down. Nothing is acknowledged before COMMIT.
 */
export class GroupCommit {
  readonly #database: Database;
  readonly #observe: CommitObserver;
  #queue: Pending[] = [];
  #scheduled = false;
  #closed = false;

  constructor(database: Database, observe: CommitObserver) {
    this.#database = database;
    this.#observe = observe;
  }

  /** Runs `work` inside a transaction and resolves to its result once that is durable. */
  submit<T>(intent: string, work: () => T): Promise<T> {
    if (this.#closed) return Promise.reject(closedError(this.#database.file));
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ intent, work, resolve, reject, since: performance.now() });
      this.#schedule();
    });
  }

  /** Commits what is waiting, then refuses what comes. */
  close(): void {
    if (this.#queue.length > 0) this.#flush();
    this.#closed = true;
    for (const pending of this.#queue.splice(0)) pending.reject(closedError(this.#database.file));
  }

  #schedule(delayMs = 0): void {
    if (this.#scheduled || this.#queue.length === 0) return;
    this.#scheduled = true;
    if (delayMs === 0) setImmediate(() => this.#flush());
    else setTimeout(() => this.#flush(), delayMs);
  }

  #flush(): void {
    this.#scheduled = false;
    if (this.#queue.length === 0) return;
    try {
      this.#database.run("BEGIN IMMEDIATE");
    } catch (error) {
      this.#retryOrRefuse(error);
      return;
    }
    const batch = this.#queue.splice(0, MAX_BATCH);
    this.#schedule();
    this.#commit(batch);
  }

  /** Another process writes: wait without blocking the thread, up to a limit for each intent. */
  #retryOrRefuse(error: unknown): void {
    const expired = isBusy(error) ? performance.now() - BUSY_DEADLINE_MS : Number.POSITIVE_INFINITY;
    const refused = this.#queue.filter((pending) => pending.since <= expired);
    this.#queue = this.#queue.filter((pending) => pending.since > expired);
    for (const pending of refused) pending.reject(storeError(error, this.#database.file));
    this.#schedule(BUSY_RETRY_MS);
  }

  #commit(batch: readonly Pending[]): void {
    const done: { pending: Pending; value: unknown }[] = [];
    const refused: { pending: Pending; error: unknown }[] = [];
    try {
      for (const pending of batch) {
        const outcome = this.#attempt(pending.work);
        if (outcome.ok) done.push({ pending, value: outcome.value });
        else refused.push({ pending, error: outcome.error });
      }
      if (done.length === 0) this.#database.run("ROLLBACK");
      else this.#database.run("COMMIT");
    } catch (error) {
      if (this.#database.inTransaction) this.#database.run("ROLLBACK");
      const reason = storeError(error, this.#database.file);
      for (const pending of batch) pending.reject(reason);
      return;
    }
    if (done.length > 0) this.#observe(done.map(({ pending }) => pending.intent));
    for (const { pending, value } of done) pending.resolve(value as never);
    for (const { pending, error } of refused) pending.reject(storeError(error, this.#database.file));
  }

  /**
   * One intent under a savepoint. On some errors (a full disk) SQLite drops the whole transaction, savepoint and
   * all: then the error is thrown on, and the batch fails as one.
   */
  #attempt(work: () => unknown): { ok: true; value: unknown } | { ok: false; error: unknown } {
    this.#database.run("SAVEPOINT intent");
    try {
      const value = work();
      this.#database.run("RELEASE intent");
      return { ok: true, value };
    } catch (error) {
      if (!this.#database.inTransaction) throw error;
      this.#database.run("ROLLBACK TO intent");
      this.#database.run("RELEASE intent");
      return { ok: false, error };
    }
  }
}

export function closedError(file: string): StoreUnavailableError {
  return new StoreUnavailableError(`The store ${file} is closed: open it again with openStore.`, {
    reason: "closed",
  });
}
