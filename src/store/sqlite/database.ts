import { accessSync, constants, existsSync } from "node:fs";
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from "node:sqlite";
import { StoreUnusableError } from "../../core/errors.ts";
import type { RunHead } from "./run-head.ts";
import { readOnlyError, storeError } from "./sqlite-error.ts";

/** "Pawl" in ASCII: says whose file this is. */
const APPLICATION_ID = 0x5061776c;

/** Waiting for a lock blocks the thread, and with it the renewal of leases; the rest of the wait is asynchronous. */
const BUSY_TIMEOUT_MS = 20;

/** The seam to the driver: a connection with prepared statements kept by their text. */
export class Database {
  readonly file: string;
  readonly #connection: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  /** What intents know of the runs they work on. */
  readonly heads = new Map<string, RunHead>();

  private constructor(file: string, connection: DatabaseSync) {
    this.file = file;
    this.#connection = connection;
  }

  /** Opens and checks the file: whose it is, and that what makes commits durable is really in force. */
  static open(file: string): Database {
    assertWritable(file);
    let connection: DatabaseSync | undefined;
    try {
      connection = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: true });
      const database = new Database(file, connection);
      database.#assertOurs();
      database.#configure();
      return database;
    } catch (error) {
      connection?.close();
      throw storeError(error, file);
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

  close(): void {
    this.#statements.clear();
    this.#connection.close();
  }

  #assertOurs(): void {
    // In one snapshot: another process may be making this file a store right now.
    const [id, tables] = this.snapshot(() => [
      this.#pragma("application_id"),
      this.get("SELECT count(*) AS n FROM sqlite_schema")?.int("n"),
    ]);
    if (id === APPLICATION_ID) return;
    if (id === 0 && tables === 0) return this.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
    throw new StoreUnusableError(
      `The file ${this.file} is a database of another program: name another file for Pawl; it was left as it is.`,
      { reason: "foreign" },
    );
  }

  #configure(): void {
    this.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY;");
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
