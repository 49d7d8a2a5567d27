import { accessSync, closeSync, constants, existsSync, openSync, realpathSync } from "node:fs";
import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { PawlError, StoreUnusableError } from "../../core/errors.ts";
import { Row } from "../sql/row.ts";
import type { SqlScript } from "../sql/script.ts";
import { KeptFiles } from "./kept-files.ts";
import { guardedConnection } from "./node-sqlite.ts";
import { isBusy, readOnlyError, storeError } from "./sqlite-error.ts";

/** "PwlS" in ASCII: marks the file as ours. */
const APPLICATION_ID = 0x50776c53;

/** "Pawl" in ASCII: the mark of versions before the first release, whose schema is another one. */
const DEVELOPMENT_ID = 0x5061776c;

/**
 * Of a new database; an existing one keeps its own. A commit writes whole pages, and changes a few hundred bytes in most of
 * them: see decision 127.
 */
const PAGE_BYTES = 1_024;

/** Waiting for a lock blocks the thread, and with it the renewal of leases; the rest of the wait is asynchronous. */
const BUSY_TIMEOUT_MS = 20;

/** The WAL is written back into the database after this many commits, or when it has grown by this much. */
const CHECKPOINT_AFTER_COMMITS = 160;
const CHECKPOINT_AFTER_BYTES = 4 * 1024 * 1024;
/** Reading its size slows down the next commit. */
const COMMITS_BETWEEN_LOOKS = 8;

/** The boundary to the driver: a connection with prepared statements, cached by their text. */
export class Database {
  readonly file: string;
  readonly isReadOnly: boolean;
  #connection: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  /**
   * A second, read-only connection, closed last. SQLite removes the WAL when the last connection closes, and mistakes
   * itself for the last one if another process has lost its locks; a read-only connection removes nothing.
   */
  #companion: DatabaseSync | null = null;
  #files: KeptFiles | null = null;
  #commitsInLog = 0;
  #checkpointedSize = 0;

  private constructor(
    file: string,
    connection: DatabaseSync,
    { isReadOnly = false }: { readonly isReadOnly?: boolean } = {},
  ) {
    this.file = file;
    this.#connection = connection;
    this.isReadOnly = isReadOnly;
  }

  /** Opens the file and checks that it is ours, and that the settings that make commits durable are in force. */
  static open(file: string): Database {
    assertWritable(file);
    makePrivate(file);
    let database: Database | undefined;
    // Connections of one process share its view of the WAL, which the first one creates: a read-only connection must
    // be opened later.
    const readers = readersOf(file);
    for (const reader of readers) reader.#disconnect();
    try {
      database = new Database(file, connect(file));
      database.#assertOurs();
      database.#configure();
      database.#keepFiles();
      return database;
    } catch (error) {
      database?.close();
      throw storeError(error, file);
    } finally {
      for (const reader of readers) reader.#connection = readOnlyConnection(file);
    }
  }

  /**
   * Opens the file for reading. Changes no file, not even the shared memory of living writers, which a plain open may
   * truncate. Null if it cannot be read that way, because a writer has to create that file first.
   */
  static openReadOnly(file: string): Database | null {
    let database: Database | undefined;
    try {
      database = new Database(file, readOnlyConnection(file), { isReadOnly: true });
      database.#assertOurs();
      openReaders.add(database);
      return database;
    } catch (error) {
      database?.close();
      // Opening it for writing reports the problem, or repairs it.
      if (isBusy(error) || PawlError.isInstance(error)) throw storeError(error, file);
      return null;
    }
  }

  /** A prepared statement; the same text returns the same statement. */
  sql(text: string): StatementSync {
    let statement = this.#statements.get(text);
    if (statement === undefined) {
      statement = this.#connection.prepare(text);
      this.#statements.set(text, statement);
    }
    return statement;
  }

  run(text: string, ...values: SQLInputValue[]): number {
    return Number(this.sql(text).run(...values).changes);
  }

  get(text: string, ...values: SQLInputValue[]): Row | null {
    const row = this.sql(text).get(...values);
    return row === undefined ? null : new Row(row);
  }

  all(text: string, ...values: SQLInputValue[]): Row[] {
    return this.sql(text)
      .all(...values)
      .map((row) => new Row(row));
  }

  /** Steps through a script: SQLite answers each query at once. */
  runScript<T>(script: SqlScript<T>): T {
    let step = script.next();
    while (step.done !== true) step = script.next(this.all(step.value.text, ...step.value.values));
    return step.value;
  }

  /** Runs several statements; for migrations. */
  exec(text: string): void {
    this.#connection.exec(text);
  }

  /** Several reads that see one state, whatever other processes commit in between. */
  snapshot<T>(read: () => T): T {
    this.run("BEGIN");
    try {
      return read();
    } finally {
      if (this.inTransaction) this.run("COMMIT");
    }
  }

  get inTransaction(): boolean {
    return this.#connection.isTransaction;
  }

  /** Before a transaction begins, and before it is acknowledged: throws if a file no longer has its name. */
  assertFiles(when: "before" | "after"): void {
    this.#files?.assertSame(when);
  }

  /** Only after the files were checked, and never inside a commit: SQLite would do it unchecked. */
  checkpointIfDue(): void {
    this.#commitsInLog += 1;
    if (this.#files === null || this.#commitsInLog % COMMITS_BETWEEN_LOOKS !== 0) return;
    const grown = this.#files.logSize() - this.#checkpointedSize;
    if (this.#commitsInLog < CHECKPOINT_AFTER_COMMITS && grown < CHECKPOINT_AFTER_BYTES) return;
    this.#checkpoint("PASSIVE");
  }

  /** A WAL that cannot be written back now, because it is being read, is written back later. */
  #checkpoint(how: "PASSIVE" | "TRUNCATE"): void {
    if (this.#files === null) return;
    this.#files.assertSame("before");
    this.get(`PRAGMA wal_checkpoint(${how})`);
    this.#commitsInLog = 0;
    this.#checkpointedSize = this.#files.logSize();
  }

  close(): void {
    try {
      if (this.#files !== null) this.#checkpoint("TRUNCATE");
    } catch {
      // The next process to open the file reads the WAL.
    }
    this.vanish();
  }

  /** Ends as a killed process would. */
  vanish(): void {
    openReaders.delete(this);
    this.#disconnect();
    if (this.#companion?.isOpen === true) this.#companion.close();
  }

  #disconnect(): void {
    this.#statements.clear();
    if (this.#connection.isOpen) this.#connection.close();
  }

  #keepFiles(): void {
    if (this.file === ":memory:") return;
    // A connection is attached to the WAL by its first read. The writable one has to be first, because it creates it.
    const read = "SELECT count(*) FROM sqlite_schema";
    this.get(read);
    this.#companion = readOnlyConnection(this.file);
    this.#companion.prepare(read).get();
    // By its real path, as SQLite has it: a link may be pointed at another file, and the working directory may
    // change.
    this.#files = new KeptFiles(realpathSync(this.file));
  }

  /**
   * Counts the commits of all connections, by one that makes none: the companion, or a connection that only reads. Null if
   * there is none, or it is busy.
   */
  commitsSeen(): number | null {
    const watcher = this.isReadOnly ? this.#connection : this.#companion;
    if (watcher?.isOpen !== true) return null;
    try {
      const row = watcher.prepare("PRAGMA data_version").get();
      return Number(row?.data_version ?? 0);
    } catch {
      return null;
    }
  }

  #assertOurs(): void {
    // In one snapshot: another process may be turning this file into a store right now.
    const [id, tables] = this.snapshot(() => [
      this.#pragma("application_id"),
      this.get("SELECT count(*) AS n FROM sqlite_schema")?.int("n"),
    ]);
    if (id === APPLICATION_ID) return;
    if (id === 0 && tables === 0 && !this.isReadOnly)
      return this.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA application_id = ${APPLICATION_ID}`);
    if (id === DEVELOPMENT_ID)
      throw new StoreUnusableError(
        `The file ${this.file} is a database of a development version of Pawl, which this version cannot read: finish its runs with that version, and name another file for this one; it was left as it is.`,
        { reason: "development" },
      );
    throw new StoreUnusableError(
      `The file ${this.file} is a database of another program: name another file for Pawl; it was left as it is.`,
      { reason: "foreign" },
    );
  }

  #configure(): void {
    this.exec(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = 0;",
    );
    const expected = {
      journal_mode: this.file === ":memory:" ? "memory" : "wal",
      synchronous: 2,
      foreign_keys: 1,
    };
    for (const [name, value] of Object.entries(expected)) {
      const actual = this.#pragma(name);
      if (actual === value) continue;
      throw new StoreUnusableError(
        `The database ${this.file} has ${name} = ${String(actual)} where ${value} is needed for durable commits: put it on a local disk.`,
        { reason: "pragma" },
      );
    }
  }

  #pragma(name: string): SQLOutputValue | undefined {
    return Object.values(this.sql(`PRAGMA ${name}`).get() ?? {})[0];
  }
}

const openReaders = new Set<Database>();

/** The readers in this process that have the same file open, under any name. */
function readersOf(file: string): Database[] {
  if (openReaders.size === 0 || !existsSync(file)) return [];
  const path = realpathSync(file);
  return [...openReaders].filter((reader) => realpathSync(reader.file) === path);
}

function readOnlyConnection(file: string): DatabaseSync {
  const url = pathToFileURL(file);
  url.searchParams.set("mode", "ro");
  url.searchParams.set("readonly_shm", "1");
  return connect(url, { readOnly: true });
}

function connect(
  file: string | URL,
  { readOnly = false }: { readonly readOnly?: boolean } = {},
): DatabaseSync {
  return guardedConnection(file, { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: true, readOnly });
}

/**
 * A new database is private to its owner, whatever the umask, and SQLite gives its WAL the same mode. An existing
 * file keeps its mode: an operator may share it.
 */
function makePrivate(file: string): void {
  if (file === ":memory:") return;
  try {
    closeSync(openSync(file, "ax", 0o600));
  } catch {
    // It exists; or its folder does not, which opening it reports.
  }
}

/**
 * Checked before SQLite sees the file: SQLite would open it for reading and leave read-only sidecar files behind,
 * which would keep refusing writes after the file itself was made writable.
 */
function assertWritable(file: string): void {
  if (file === ":memory:" || !existsSync(file)) return;
  try {
    accessSync(file, constants.R_OK | constants.W_OK);
  } catch (error) {
    throw readOnlyError(file, error);
  }
}
