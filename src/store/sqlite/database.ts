import { accessSync, closeSync, constants, existsSync, openSync, realpathSync } from "node:fs";
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { PawlError, StoreUnusableError } from "../../core/errors.ts";
import { KeptFiles } from "./kept-files.ts";
import type { RunHead } from "./run-head.ts";
import { isBusy, readOnlyError, storeError } from "./sqlite-error.ts";

/** "Pawl" in ASCII: says whose file this is. */
const APPLICATION_ID = 0x5061776c;

/** Waiting for a lock blocks the thread, and with it the renewal of leases; the rest of the wait is asynchronous. */
const BUSY_TIMEOUT_MS = 20;

/** The log is written back into the database after this many commits, or when it has grown by this much. */
const CHECKPOINT_AFTER_COMMITS = 160;
const CHECKPOINT_AFTER_BYTES = 4 * 1024 * 1024;
/** Looking at its size slows the next commit. */
const COMMITS_BETWEEN_LOOKS = 8;

/** The seam to the driver: a connection with prepared statements kept by their text. */
export class Database {
  readonly file: string;
  readonly isReadOnly: boolean;
  #connection: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  /** What intents know of the runs they work on. */
  readonly heads = new Map<string, RunHead>();
  /**
   * A second connection, which cannot write, and is closed last. SQLite removes the log when the last connection closes,
   * and takes itself for the last one where another process has lost its locks; one that cannot write removes nothing.
   */
  #companion: DatabaseSync | null = null;
  #files: KeptFiles | null = null;
  #commitsInLog = 0;
  #checkpointedSize = 0;

  private constructor(file: string, connection: DatabaseSync, isReadOnly: boolean) {
    this.file = file;
    this.#connection = connection;
    this.isReadOnly = isReadOnly;
  }

  /** Opens and checks the file: whose it is, and that what makes commits durable is really in force. */
  static open(file: string): Database {
    assertWritable(file);
    makePrivate(file);
    let database: Database | undefined;
    // Those of one process share its view of the log, which the first one makes: one that cannot write has to come later.
    const readers = readersOf(file);
    for (const reader of readers) reader.#disconnect();
    try {
      database = new Database(file, connect(file, false), false);
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
   * For those who only read: nothing of it changes a file, the shared memory of living writers included, which a plain
   * opener may cut short. Null where it cannot be read so: without that file, which whoever writes makes.
   */
  static openReadOnly(file: string): Database | null {
    let database: Database | undefined;
    try {
      database = new Database(file, readOnlyConnection(file), true);
      database.#assertOurs();
      openReaders.add(database);
      return database;
    } catch (error) {
      database?.close();
      // Opening it for writing reports what is wrong with it, or repairs it.
      if (isBusy(error) || PawlError.isInstance(error)) throw storeError(error, file);
      return null;
    }
  }

  /** A prepared statement; the same text gives the same statement. */
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

  /** The number of the row that was inserted. */
  insert(text: string, ...values: SQLInputValue[]): number {
    return Number(this.sql(text).run(...values).lastInsertRowid);
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

  *iterate(text: string, ...values: SQLInputValue[]): Generator<Row> {
    for (const row of this.sql(text).iterate(...values)) yield new Row(row);
  }

  /** Several statements at once; for migrations. */
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

  /** Before a transaction begins, and before it is acknowledged: the files are still those that have their names. */
  assertFiles(when: "before" | "after"): void {
    this.#files?.assertSame(when);
  }

  /** After a look at the files, and never inside a commit: SQLite would do it without looking. */
  checkpointIfDue(): void {
    this.#commitsInLog += 1;
    if (this.#files === null || this.#commitsInLog % COMMITS_BETWEEN_LOOKS !== 0) return;
    const grown = this.#files.logSize() - this.#checkpointedSize;
    if (this.#commitsInLog < CHECKPOINT_AFTER_COMMITS && grown < CHECKPOINT_AFTER_BYTES) return;
    this.#checkpoint("PASSIVE");
  }

  /** A log that cannot be written back now, since somebody reads, is written back later. */
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
      // Whoever opens it next finds the log.
    }
    this.vanish();
  }

  /** As the death of the process does. */
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
    // Only who has read is connected to the log: the one that can write first, which makes it.
    const read = "SELECT count(*) FROM sqlite_schema";
    this.get(read);
    this.#companion = readOnlyConnection(this.file);
    this.#companion.prepare(read).get();
    // Under the name that SQLite has it by: a link may be set to another file, and a folder be left.
    this.#files = new KeptFiles(realpathSync(this.file));
  }

  #assertOurs(): void {
    // In one snapshot: another process may be making this file a store right now.
    const [id, tables] = this.snapshot(() => [
      this.#pragma("application_id"),
      this.get("SELECT count(*) AS n FROM sqlite_schema")?.int("n"),
    ]);
    if (id === APPLICATION_ID) return;
    if (id === 0 && tables === 0 && !this.isReadOnly)
      return this.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
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

/** Those in this process that have the same file open, by whatever name. */
function readersOf(file: string): Database[] {
  if (openReaders.size === 0 || !existsSync(file)) return [];
  const path = realpathSync(file);
  return [...openReaders].filter((reader) => realpathSync(reader.file) === path);
}

function readOnlyConnection(file: string): DatabaseSync {
  const url = pathToFileURL(file);
  url.searchParams.set("mode", "ro");
  url.searchParams.set("readonly_shm", "1");
  return connect(url, true);
}

/**
 * What is in the file is input: no function that could do something is called by its schema, its schema cannot be edited in
 * place, its pages are checked as they are read, and no extension is loaded.
 */
function connect(file: string | URL, readOnly: boolean): DatabaseSync {
  const connection = new DatabaseSync(file, {
    timeout: BUSY_TIMEOUT_MS,
    enableForeignKeyConstraints: true,
    allowExtension: false,
    readOnly,
  });
  const { enableDefensive } = connection as { enableDefensive?: (active: boolean) => void };
  enableDefensive?.call(connection, true);
  connection.exec("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON");
  return connection;
}

/**
 * A new database is for its owner alone, whatever the umask says, and SQLite gives its log the same rights. One that is there
 * keeps those that it has: an operator may share it.
 */
function makePrivate(file: string): void {
  if (file === ":memory:") return;
  try {
    closeSync(openSync(file, "ax", 0o600));
  } catch {
    // It is there; or there is no folder for it, and opening it says so.
  }
}

/**
 * Asked before SQLite sees the file: it would open it for reading and leave read-only sidecar files behind, and those
 * would go on refusing writes after the file itself was made writable.
 */
function assertWritable(file: string): void {
  if (file === ":memory:" || !existsSync(file)) return;
  try {
    accessSync(file, constants.R_OK | constants.W_OK);
  } catch (error) {
    throw readOnlyError(file, error);
  }
}

/** A row, read by column and type: a column that is not what the schema says stops the reader. */
export class Row {
  readonly #values: Record<string, SQLOutputValue>;

  constructor(values: Record<string, SQLOutputValue>) {
    this.#values = values;
  }

  int(column: string): number {
    const value = this.#values[column];
    return typeof value === "number" ? value : this.#mismatch(column, "an integer");
  }

  text(column: string): string {
    const value = this.#values[column];
    return typeof value === "string" ? value : this.#mismatch(column, "a text");
  }

  bytes(column: string): Uint8Array {
    const value = this.#values[column];
    return value instanceof Uint8Array ? value : this.#mismatch(column, "bytes");
  }

  optionalInt(column: string): number | null {
    return this.#values[column] === null ? null : this.int(column);
  }

  optionalText(column: string): string | null {
    return this.#values[column] === null ? null : this.text(column);
  }

  optionalBytes(column: string): Uint8Array | null {
    return this.#values[column] === null ? null : this.bytes(column);
  }

  /** In the order of the query. */
  columns(): readonly string[] {
    return Object.keys(this.#values);
  }

  value(column: string): string | number | Uint8Array | null {
    const value = this.#values[column] ?? null;
    return typeof value === "bigint" ? this.#mismatch(column, "an integer of 53 bits") : value;
  }

  hex(column: string): string {
    return Buffer.from(this.bytes(column)).toString("hex");
  }

  #mismatch(column: string, expected: string): never {
    throw new StoreUnusableError(
      `A row of the database holds ${typeof this.#values[column]} in ${column} where ${expected} belongs: the file was changed by another program; restore it from a backup.`,
      { reason: "row_shape" },
    );
  }
}
