import { statSync } from "node:fs";
import type { LiveParts } from "../live-parts.ts";
import type { DatabaseReport } from "../report/database-report.ts";
import type { Driver } from "../sql/driver.ts";
import type { Leases } from "../sql/leases.ts";
import { latestVersion } from "../sql/migration.ts";
import type { RunHead } from "../sql/run-head.ts";
import { all, get, known, type SqlScript } from "../sql/script.ts";
import type { RunKey } from "../sql/table-list.ts";
import type { Transaction } from "../sql/transaction.ts";
import type { StoreDescription } from "../store.ts";
import { StoreFiles } from "../store-files.ts";
import { commitOrder } from "./commit-order.ts";
import { CommitWatch } from "./commit-watch.ts";
import type { Database } from "./database.ts";
import { MIGRATIONS } from "./embedded-migrations.ts";
import { type CommitObserver, GroupCommit } from "./group-commit.ts";
import { schemaVersion } from "./migrate.ts";
import type { OwnerLock } from "./owner-lock.ts";
import { ReadThread } from "./read-thread.ts";
import { RedactionKey } from "./redaction-key.ts";
import { SchemaGuard } from "./schema-guard.ts";
import type { SentMarks } from "./sent-marks.ts";
import { readOnlyError } from "./sqlite-error.ts";
import { whileBusy } from "./while-busy.ts";
import { writeRow } from "./write-statements.ts";

/** What takes no longer than the start of a thread: some 30 ms. */
const LARGE_BYTES = 8 * 1024 * 1024;
/** As many as tools have. */
const MOST_THREADS = 4;

export type SqliteDriverParts = {
  readonly database: Database;
  readonly lock: OwnerLock;
  readonly marks: SentMarks | null;
  readonly leases: Leases;
  readonly now: () => number;
  readonly onCommit: CommitObserver;
  /** The real path of the database: its sidecar files are beside it. */
  readonly path: string;
  readonly live: LiveParts;
};

/** One SQLite file: its connection, its transactions, and the sidecar files of this process. */
export class SqliteDriver implements Driver {
  readonly live: LiveParts;
  readonly changeLog = commitOrder;
  readonly #database: Database;
  readonly #lock: OwnerLock;
  readonly #marks: SentMarks | null;
  readonly #leases: Leases;
  readonly #now: () => number;
  readonly #commits: GroupCommit;
  readonly #schema: SchemaGuard;
  readonly #files: StoreFiles;
  readonly #redactionKey: RedactionKey;
  readonly #heads = new Map<string, RunHead>();
  readonly #watch: CommitWatch;
  readonly #path: string;
  readonly #threads = new Set<ReadThread>();
  /** Long reads that wait for a thread. */
  readonly #waiting: (() => void)[] = [];
  #taken = 0;
  #isEnding = false;

  constructor({ database, lock, marks, leases, now, onCommit, path, live }: SqliteDriverParts) {
    this.live = live;
    this.#path = path;
    this.#database = database;
    this.#lock = lock;
    this.#marks = marks;
    this.#leases = leases;
    this.#now = now;
    this.#schema = new SchemaGuard(database);
    this.#files = new StoreFiles(database.file);
    this.#redactionKey = new RedactionKey(path);
    this.#watch = new CommitWatch(() => database.commitsSeen());
    this.#commits = new GroupCommit(database, this.#heads, onCommit, () => this.#schema.assertWritable());
  }

  get name(): string {
    return this.#database.file;
  }

  get isReadOnly(): boolean {
    return this.#database.isReadOnly;
  }

  now(): number {
    return this.#now();
  }

  write<T>(intent: string, _runId: string | null, script: (tx: Transaction) => SqlScript<T>): Promise<T> {
    if (this.isReadOnly) return Promise.reject(readOnlyError(this.name, null));
    return this.#commits.submit(intent, () => this.#database.runScript(script(this.#transaction())));
  }

  read<T>(script: () => SqlScript<T>): Promise<T> {
    return whileBusy(this.name, () =>
      this.#database.snapshot(() => {
        this.#schema.assertReadable();
        return this.#database.runScript(script());
      }),
    );
  }

  /** A few beside one another, each with the state of its own beginning: every thread takes some 13 MB. */
  async readLong<T>(script: () => SqlScript<T>, isLong?: () => SqlScript<boolean>): Promise<T> {
    if (!(await this.#isWorthThread(isLong))) return this.read(script);
    if (this.#taken < MOST_THREADS) this.#taken += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (this.#isEnding) return this.read(script);
    const thread = new ReadThread(this.#path);
    this.#threads.add(thread);
    try {
      return await thread.run(script);
    } finally {
      this.#threads.delete(thread);
      await thread.end();
      // The next one takes its place.
      const next = this.#waiting.shift();
      if (next === undefined) this.#taken -= 1;
      else next();
    }
  }

  /**
   * A small database is read faster than a thread starts. One that is only read has no thread: a reader that is not known to
   * `Database.open` would be in the way of a writer that this process opens later.
   */
  #isWorthThread(isLong?: () => SqlScript<boolean>): Promise<boolean> {
    return whileBusy(this.name, () =>
      this.#database.snapshot(() => {
        this.#schema.assertReadable();
        if (this.isReadOnly || this.#path === ":memory:" || this.#bytes() < LARGE_BYTES) return false;
        return isLong === undefined || this.#database.runScript(isLong());
      }),
    );
  }

  #bytes(): number {
    const size = this.#database.get(
      "SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size",
    );
    return size?.int("bytes") ?? 0;
  }

  announce(): void {
    this.#watch.announce();
  }

  watch(listener: () => void): Promise<() => void> {
    return Promise.resolve(this.#watch.watch(listener));
  }

  commitsSeen(): number | null {
    return this.#database.commitsSeen();
  }

  async close(ownerLock: "release" | "hold"): Promise<void> {
    await this.live.close();
    this.#watch.close();
    this.#commits.close();
    await this.#endThreads();
    this.#marks?.close();
    this.#database.close();
    if (ownerLock === "release") await this.#lock.release();
  }

  async vanish(): Promise<void> {
    await this.live.close();
    this.#watch.close();
    this.#commits.abandon();
    await this.#endThreads();
    this.#marks?.close();
    this.#database.vanish();
    await this.#lock.vanish();
  }

  /** Before the database is closed: the last connection of a process is one that it knows. */
  async #endThreads(): Promise<void> {
    this.#isEnding = true;
    for (const begin of this.#waiting.splice(0)) begin();
    await Promise.all([...this.#threads].map((thread) => thread.end()));
  }

  /** Uses SQLite's own check, and checks the references between rows. */
  checkIntegrity(): Promise<readonly string[]> {
    return this.readLong(integrityProblems);
  }

  describe(): Promise<StoreDescription> {
    return whileBusy(this.name, () =>
      this.#database.snapshot(() => {
        return {
          database: "sqlite",
          schemaVersion: schemaVersion(this.#database),
          sizeBytes: this.#bytes(),
          logBytes:
            this.#path === ":memory:"
              ? null
              : (statSync(`${this.#path}-wal`, { throwIfNoEntry: false })?.size ?? 0),
        };
      }),
    );
  }

  inspect(): Promise<DatabaseReport> {
    return whileBusy(this.name, () => ({
      database: "sqlite",
      file: this.#path === ":memory:" ? null : this.#path,
      schemaVersion: this.#database.snapshot(() => schemaVersion(this.#database)),
      knownVersion: latestVersion(MIGRATIONS),
    }));
  }

  isOwnFile(path: string): Promise<boolean> {
    return this.#files.has(path);
  }

  redactionKey(): Uint8Array {
    return this.#redactionKey.get(this.#database);
  }

  #transaction(): Transaction {
    const now = this.#now();
    return {
      now,
      leases: this.#leases,
      heads: this.#heads,
      newRunKey,
      // A transaction that writes keeps all others from writing.
      lockRuns: () => known(false),
      lockName: () => known(undefined),
      // Whether an owner lives is known from its socket, and does not change between the look and the claim.
      mayTakeFrom: () => known(true),
      write: (write) => writeRow(this.#database, now, write),
    };
  }
}

function* integrityProblems(): SqlScript<readonly string[]> {
  const damage = yield* all("PRAGMA integrity_check(20)");
  const orphans = yield* all('SELECT DISTINCT "table" AS child, parent FROM pragma_foreign_key_check');
  return [
    ...damage.map((row) => row.text("integrity_check")).filter((line) => line !== "ok"),
    ...orphans.map(
      (row) => `A row of ${row.text("child")} refers to one of ${row.text("parent")} that is not there.`,
    ),
  ];
}

/** Runs are numbered in the order in which they are created. */
function* newRunKey(): SqlScript<RunKey> {
  const last = yield* get("SELECT max(run_key) AS n FROM runs");
  return (last?.optionalInt("n") ?? 0) + 1;
}
