import { ANSWERS_IN_A_TICK } from "../sql/driver.ts";
import type { RunHead } from "../sql/run-head.ts";
import { closedError } from "../sql/sql-overview.ts";
import type { Database } from "./database.ts";
import { isBusy, isFileError, storeError, unknownCommit } from "./sqlite-error.ts";

/** How long an intent waits for the write lock before it is refused. */
const BUSY_DEADLINE_MS = 30_000;
const BUSY_RETRY_MS = 10;

/** The most intents in one transaction: writing them blocks the thread, for some 0.15 ms each. */
const MAX_BATCH = 256;

type Pending = {
  readonly intent: string;
  readonly work: () => unknown;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
  readonly since: number;
};

/** Called after every durable commit with the intents in it, for measurements. */
export type CommitObserver = (intents: readonly string[]) => void;

/**
 * Intents that arrive in the same tick share one transaction: a hundred runs pay for one fsync. A refused intent does
 * not fail the others: the transaction is rolled back and repeated with each intent under its own savepoint.
 * (Savepoints from the start cost a copy of every page an intent touches, to undo something that almost never needs
 * it.) Intents may therefore run twice, and may touch only the database. Nothing is acknowledged before COMMIT, and
 * then a few at a time.
 */
export class GroupCommit {
  readonly #database: Database;
  /** Cached by intents; dropped with every transaction that is rolled back. */
  readonly #heads: Map<string, RunHead>;
  readonly #observe: CommitObserver;
  /** Called inside each transaction, before anything is written. */
  readonly #assertWritable: () => void;
  #queue: Pending[] = [];
  /** Answers that are decided and not given yet. The next transaction waits for them, so that it has all their runs. */
  #answers: (() => void)[] = [];
  #scheduled = false;
  /** True if the next transaction uses savepoints, because an intent of this one was refused. */
  #apart = false;
  #closed = false;

  constructor(
    database: Database,
    heads: Map<string, RunHead>,
    observe: CommitObserver,
    assertWritable: () => void,
  ) {
    this.#database = database;
    this.#heads = heads;
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

  /** Commits the queue, then refuses further intents. */
  close(): void {
    // One batch at a time, until the queue is empty or another process has the write lock.
    let isFree = true;
    while (isFree && this.#queue.length > 0) isFree = this.#flush();
    this.#closed = true;
    this.#answer(this.#answers.length);
    for (const pending of this.#queue.splice(0)) pending.reject(closedError(this.#database.file));
  }

  /** Drops the queue without an answer, as a killed process would. */
  abandon(): void {
    this.#closed = true;
    this.#queue = [];
    this.#answers = [];
  }

  #schedule(delayMs = 0): void {
    if (this.#scheduled || this.#answers.length > 0 || this.#queue.length === 0) return;
    this.#scheduled = true;
    if (delayMs === 0) setImmediate(() => this.#flush());
    else setTimeout(() => this.#flush(), delayMs);
  }

  /** One transaction. False if the write lock could not be taken. */
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
      this.#answer(this.#answers.length);
      this.#rollback();
      const reason = storeError(error, this.#database.file);
      for (const pending of batch) pending.reject(reason);
    }
    this.#writeBack();
    this.#schedule();
    return true;
  }

  /** A failure to write the WAL back does not fail the commit; the next attempt will report it. */
  #writeBack(): void {
    try {
      this.#database.checkpointIfDue();
    } catch {
      // Another process is reading, or the disk fails.
    }
  }

  /** Another process is writing: wait without blocking the thread, up to a limit for each intent. */
  #retryOrRefuse(error: unknown): void {
    const expired = isBusy(error) ? performance.now() - BUSY_DEADLINE_MS : Number.POSITIVE_INFINITY;
    const refused = this.#queue.filter((pending) => pending.since <= expired);
    this.#queue = this.#queue.filter((pending) => pending.since > expired);
    for (const pending of refused) pending.reject(storeError(error, this.#database.file));
    this.#schedule(BUSY_RETRY_MS);
  }

  /**
   * All intents in one. The first refusal ends it: SQLite may have dropped the transaction by then, and later writes
   * would be outside of it. The batch is rolled back and queued again, to be run with savepoints.
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
      this.#answers.push(() => {
        if (outcome.ok) batch[i]?.resolve(outcome.value as never);
        else batch[i]?.reject(storeError(outcome.error, this.#database.file));
      });
    });
    this.#answer(ANSWERS_IN_A_TICK);
    // Last: if it throws, everything durable is acknowledged.
    if (committed.length > 0) this.#observe(committed.map((pending) => pending.intent));
  }

  /** Gives that many answers now, and the rest in the ticks that follow. */
  #answer(count: number): void {
    for (const answer of this.#answers.splice(0, count)) answer();
    if (this.#answers.length > 0) setImmediate(() => this.#answer(ANSWERS_IN_A_TICK));
    else this.#schedule();
  }

  /**
   * A disk that fails during COMMIT may have stored the transaction anyway: the next process to open the database may
   * find it, whole, in the WAL. And a commit into files that have lost their names is not one.
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
    this.#heads.clear();
    if (this.#database.inTransaction) this.#database.run("ROLLBACK");
  }

  /**
   * One intent under a savepoint. On some errors (a full disk) SQLite drops the whole transaction, savepoint
   * included: then the error is rethrown, and the whole batch fails.
   */
  #attemptApart(work: () => unknown): Attempted {
    this.#database.run("SAVEPOINT intent");
    try {
      const value = work();
      this.#database.run("RELEASE intent");
      return { ok: true, value };
    } catch (error) {
      if (!this.#database.inTransaction) throw error;
      this.#heads.clear();
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
