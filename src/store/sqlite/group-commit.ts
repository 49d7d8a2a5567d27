import { StoreUnavailableError } from "../../core/errors.ts";
import type { Database } from "./database.ts";
import { isBusy, isFileError, storeError, unknownCommit } from "./sqlite-error.ts";

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
 * Intents that arrive in the same tick share one transaction: a hundred runs pay for one fsync. A refused intent takes
 * nobody else down: the transaction is then rolled back and done again with each intent under its own savepoint.
 * (Savepoints from the start cost a copy of every page an intent touches, to undo what nearly never is.) Intents may
 * therefore run twice, and only touch the database. Nothing is acknowledged before COMMIT.
 */
export class GroupCommit {
  readonly #database: Database;
  readonly #observe: CommitObserver;
  /** Looked at inside each transaction, before anything is written. */
  readonly #assertWritable: () => void;
  #queue: Pending[] = [];
  #scheduled = false;
  /** Whether the next transaction keeps its intents apart, since one of them was refused. */
  #apart = false;
  #closed = false;

  constructor(database: Database, observe: CommitObserver, assertWritable: () => void) {
    this.#database = database;
    this.#observe = observe;
    this.#assertWritable = assertWritable;
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
    // A batch at a time, until nothing waits any more, or another process has the write lock.
    let isFree = true;
    while (isFree && this.#queue.length > 0) isFree = this.#flush();
    this.#closed = true;
    for (const pending of this.#queue.splice(0)) pending.reject(closedError(this.#database.file));
  }

  /** What waits is lost, and nobody is told: as the death of the process does. */
  abandon(): void {
    this.#closed = true;
    this.#queue = [];
  }

  #schedule(delayMs = 0): void {
    if (this.#scheduled || this.#queue.length === 0) return;
    this.#scheduled = true;
    if (delayMs === 0) setImmediate(() => this.#flush());
    else setTimeout(() => this.#flush(), delayMs);
  }

  /** One transaction. False when the write lock could not be had. */
  #flush(): boolean {
    this.#scheduled = false;
    if (this.#queue.length === 0) return true;
    try {
      this.#database.assertFiles("before");
      this.#database.run("BEGIN IMMEDIATE");
      this.#assertWritable();
    } catch (error) {
      this.#rollback();
      this.#retryOrRefuse(error);
      return false;
    }
    const batch = this.#queue.splice(0, MAX_BATCH);
    const apart = this.#apart;
    this.#apart = false;
    try {
      if (apart)
        this.#commit(
          batch,
          batch.map(({ work }) => this.#attemptApart(work)),
        );
      else this.#commitTogether(batch);
    } catch (error) {
      this.#rollback();
      const reason = storeError(error, this.#database.file);
      for (const pending of batch) pending.reject(reason);
    }
    this.#writeBack();
    this.#schedule();
    return true;
  }

  /** What keeps the log from being written back keeps nobody from their commit: the next look tells. */
  #writeBack(): void {
    try {
      this.#database.checkpointIfDue();
    } catch {
      // Another process reads, or the disk fails.
    }
  }

  /** Another process writes: wait without blocking the thread, up to a limit for each intent. */
  #retryOrRefuse(error: unknown): void {
    const expired = isBusy(error) ? performance.now() - BUSY_DEADLINE_MS : Number.POSITIVE_INFINITY;
    const refused = this.#queue.filter((pending) => pending.since <= expired);
    this.#queue = this.#queue.filter((pending) => pending.since > expired);
    for (const pending of refused) pending.reject(storeError(error, this.#database.file));
    this.#schedule(BUSY_RETRY_MS);
  }

  /**
   * All intents as one. The first that is refused ends it: SQLite may have dropped the transaction by then, and what
   * followed would be written outside of it. The batch is rolled back and put back, to be done with each intent apart.
   */
  #commitTogether(batch: readonly Pending[]): void {
    const outcomes: Attempted[] = [];
    for (const { work } of batch) {
      const outcome = attempt(work);
      outcomes.push(outcome);
      if (outcome.ok) continue;
      this.#rollback();
      this.#queue.unshift(...batch);
      this.#apart = true;
      return;
    }
    this.#commit(batch, outcomes);
  }

  #commit(batch: readonly Pending[], outcomes: readonly Attempted[]): void {
    const committed = batch.filter((_, i) => outcomes[i]?.ok === true);
    if (committed.length > 0) this.#makeDurable();
    else this.#rollback();
    outcomes.forEach((outcome, i) => {
      if (outcome.ok) batch[i]?.resolve(outcome.value as never);
      else batch[i]?.reject(storeError(outcome.error, this.#database.file));
    });
    // Last: whatever it throws, what is durable has been acknowledged.
    if (committed.length > 0) this.#observe(committed.map((pending) => pending.intent));
  }

  /**
   * A disk that fails while it is told to keep what it has may have kept it: whoever opens the database next may find the
   * transaction in the log, whole. And a commit into files that have lost their names is none.
   */
  #makeDurable(): void {
    try {
      this.#database.run("COMMIT");
    } catch (error) {
      throw isFileError(error) ? unknownCommit(error, this.#database.file) : error;
    }
    this.#database.assertFiles("after");
  }

  #rollback(): void {
    this.#database.heads.clear();
    if (this.#database.inTransaction) this.#database.run("ROLLBACK");
  }

  /**
   * One intent under a savepoint. On some errors (a full disk) SQLite drops the whole transaction, savepoint and
   * all: then the error is thrown on, and the batch fails as one.
   */
  #attemptApart(work: () => unknown): Attempted {
    this.#database.run("SAVEPOINT intent");
    try {
      const value = work();
      this.#database.run("RELEASE intent");
      return { ok: true, value };
    } catch (error) {
      if (!this.#database.inTransaction) throw error;
      this.#database.heads.clear();
      this.#database.run("ROLLBACK TO intent");
      this.#database.run("RELEASE intent");
      return { ok: false, error };
    }
  }
}

type Attempted = { ok: true; value: unknown } | { ok: false; error: unknown };

function attempt(work: () => unknown): Attempted {
  try {
    return { ok: true, value: work() };
  } catch (error) {
    return { ok: false, error };
  }
}

export function closedError(file: string): StoreUnavailableError {
  return new StoreUnavailableError(`The store ${file} is closed: open it again with openStore.`, {
    reason: "closed",
  });
}
