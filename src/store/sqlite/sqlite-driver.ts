import { statSync } from "node:fs";
import type { LiveParts } from "../live-parts.ts";
import type { Driver } from "../sql/driver.ts";
import type { Leases } from "../sql/leases.ts";
import type { RunHead } from "../sql/run-head.ts";
import { get, known, type SqlScript } from "../sql/script.ts";
import type { RunKey } from "../sql/table-list.ts";
import type { Transaction } from "../sql/transaction.ts";
import type { StoreDescription } from "../store.ts";
import { StoreFiles } from "../store-files.ts";
import { commitOrder } from "./commit-order.ts";
import { CommitWatch } from "./commit-watch.ts";
import type { Database } from "./database.ts";
import { type CommitObserver, GroupCommit } from "./group-commit.ts";
import { schemaVersion } from "./migrate.ts";
import type { OwnerLock } from "./owner-lock.ts";
import { RedactionKey } from "./redaction-key.ts";
import { SchemaGuard } from "./schema-guard.ts";
import type { SentMarks } from "./sent-marks.ts";
import { readOnlyError } from "./sqlite-error.ts";
import { whileBusy } from "./while-busy.ts";
import { writeRow } from "./write-statements.ts";

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
    this.#marks?.close();
    this.#database.close();
    if (ownerLock === "release") await this.#lock.release();
  }

  async vanish(): Promise<void> {
    await this.live.close();
    this.#watch.close();
    this.#commits.abandon();
    this.#marks?.close();
    this.#database.vanish();
    await this.#lock.vanish();
  }

  /** Uses SQLite's own check, and checks the references between rows. */
  checkIntegrity(): Promise<readonly string[]> {
    return whileBusy(this.name, () =>
      this.#database.snapshot(() => {
        this.#schema.assertReadable();
        const damage = this.#database
          .all("PRAGMA integrity_check(20)")
          .map((row) => row.text("integrity_check"))
          .filter((line) => line !== "ok");
        const orphans = this.#database
          .all('SELECT DISTINCT "table" AS child, parent FROM pragma_foreign_key_check')
          .map(
            (row) =>
              `A row of ${row.text("child")} refers to one of ${row.text("parent")} that is not there.`,
          );
        return [...damage, ...orphans];
      }),
    );
  }

  describe(): Promise<StoreDescription> {
    return whileBusy(this.name, () =>
      this.#database.snapshot(() => {
        const size = this.#database.get(
          "SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size",
        );
        return {
          database: "sqlite",
          schemaVersion: schemaVersion(this.#database),
          sizeBytes: size?.int("bytes") ?? 0,
          logBytes:
            this.#path === ":memory:"
              ? null
              : (statSync(`${this.#path}-wal`, { throwIfNoEntry: false })?.size ?? 0),
        };
      }),
    );
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

/** Runs are numbered in the order in which they are created. */
function* newRunKey(): SqlScript<RunKey> {
  const last = yield* get("SELECT max(run_key) AS n FROM runs");
  return (last?.optionalInt("n") ?? 0) + 1;
}
