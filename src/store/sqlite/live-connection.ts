import { dirname } from "node:path";
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { Row } from "../sql/row.ts";
import { FolderLook, idOf, statOf } from "./folder-look.ts";
import { guardedConnection } from "./node-sqlite.ts";

/** "PwlL" in ASCII: marks the file as one of live parts. */
export const LIVE_ID = 0x50776c4c;

/** Waiting for a lock would block the thread: the batch is kept instead. */
const BUSY_TIMEOUT_MS = 5;

const SCHEMA = `
  CREATE TABLE live (
    no INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL,
    step TEXT NOT NULL,
    turn INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    row_index INTEGER NOT NULL,
    at INTEGER NOT NULL,
    parts TEXT NOT NULL
  );
  CREATE INDEX live_of_run ON live (run_id, no);
  CREATE TABLE viewers (run_id TEXT PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID;`;

/** A connection to a file of live parts. */
export class LiveConnection {
  readonly #file: string;
  readonly #connection: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #folder: FolderLook;
  readonly #ids: string;

  private constructor(file: string, connection: DatabaseSync) {
    this.#file = file;
    this.#folder = new FolderLook(dirname(file));
    this.#connection = connection;
    // A connection is attached to its log by its first read.
    this.all("SELECT count(*) AS n FROM live");
    this.#ids = idsOf(file);
  }

  static open(
    file: string,
    { firstRow, maxPages }: { readonly firstRow: number; readonly maxPages: number | null },
  ): LiveConnection {
    const connection = connect(file, false);
    try {
      // Before anything is written: not even the creation of the file waits for the disk.
      connection.exec("PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY");
      if (maxPages !== null) connection.exec(`PRAGMA max_page_count = ${maxPages}`);
      // Before the mode of the file is changed: another program's stays as it is. A row changes a few hundred bytes.
      if (!isOurs(connection)) connection.exec("PRAGMA page_size = 1024");
      connection.exec("PRAGMA journal_mode = WAL; BEGIN IMMEDIATE");
      if (!isOurs(connection)) {
        connection.exec(`PRAGMA application_id = ${LIVE_ID}; ${SCHEMA}`);
        connection.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES ('live', ?)").run(firstRow);
      }
      connection.exec("COMMIT");
      return new LiveConnection(file, connection);
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  /** Changes no file, not even the memory that writers share. Throws if it cannot be read that way. */
  static openReadOnly(file: string): LiveConnection {
    const url = pathToFileURL(file);
    url.searchParams.set("mode", "ro");
    url.searchParams.set("readonly_shm", "1");
    const connection = connect(url, true);
    try {
      if (!isOurs(connection)) throw new Error("It is still empty.");
      return new LiveConnection(file, connection);
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  /** False once another file has the name, or its log was replaced. */
  isInPlace(): boolean {
    return this.#connection.isOpen && this.#folder.isInPlace(() => idsOf(this.#file) === this.#ids);
  }

  run(text: string, ...values: SQLInputValue[]): void {
    this.#sql(text).run(...values);
  }

  all(text: string, ...values: SQLInputValue[]): Row[] {
    return this.#sql(text)
      .all(...values)
      .map((row) => new Row(row));
  }

  transaction(work: () => void): void {
    this.run("BEGIN IMMEDIATE");
    try {
      work();
      this.run("COMMIT");
    } finally {
      if (this.#connection.isTransaction) this.run("ROLLBACK");
    }
  }

  /** Counts the commits of all other connections. */
  version(): number {
    return this.all("PRAGMA data_version")[0]?.int("data_version") ?? 0;
  }

  close(): void {
    this.#statements.clear();
    if (this.#connection.isOpen) this.#connection.close();
  }

  #sql(text: string): StatementSync {
    let statement = this.#statements.get(text);
    if (statement === undefined) {
      statement = this.#connection.prepare(text);
      this.#statements.set(text, statement);
    }
    return statement;
  }
}

function connect(file: string | URL, readOnly: boolean): DatabaseSync {
  return guardedConnection(file, { timeout: BUSY_TIMEOUT_MS, readOnly });
}

/** False if it is empty; throws if it is another program's. */
function isOurs(connection: DatabaseSync): boolean {
  const id = Object.values(connection.prepare("PRAGMA application_id").get() ?? {})[0];
  if (id === LIVE_ID) return true;
  const tables = connection.prepare("SELECT count(*) AS n FROM sqlite_schema").get();
  if (id === 0 && tables?.n === 0) return false;
  throw new Error(
    `The file ${connection.location() ?? ""} is a database of another program, and was left as it is`,
  );
}

function idsOf(file: string): string {
  return [file, `${file}-wal`]
    .map((each) => {
      const stat = statOf(each);
      return stat === undefined ? "none" : idOf(stat);
    })
    .join(" ");
}
