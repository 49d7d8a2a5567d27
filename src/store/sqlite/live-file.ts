import { closeSync, openSync, readSync, rmSync } from "node:fs";
import { type LiveBackend, type LiveBatch, type NewLiveRow, readParts } from "../live/live-backend.ts";
import type { LivePosition, LiveRow } from "../live-parts.ts";
import { statOf } from "./folder-look.ts";
import { LIVE_ID, LiveConnection } from "./live-connection.ts";
import { isBusy, isCorrupt, storeError } from "./sqlite-error.ts";

export type LiveFileOptions = {
  /** Creates nothing and writes nothing. */
  readonly isReadOnly?: boolean;
  /** The largest size of the file, for tests of a full disk. */
  readonly maxPages?: number;
};

/** A file that cannot be read is not tried again at every look. */
const RETRY_READ_MS = 250;
/** Numbers of rows rise over files too: a new one begins with the time. */
const ROWS_IN_A_MS = 1_024;

/**
 * `pawl.db-live`: the answers that are being written now, beside the database. It is never flushed to the disk, and may be
 * deleted at any time: the next write makes another one. Whatever happens to it, runs do not notice.
 */
export class LiveFile implements LiveBackend {
  readonly #file: string;
  readonly #options: LiveFileOptions;
  /** A read-only connection. It sees the writes of all others, and counts them. */
  #reader: LiveConnection | null = null;
  #writer: LiveConnection | null = null;
  /** Versions of one connection say nothing about those of the next. */
  #opened = 0;
  #retryReadAt = 0;

  constructor(file: string, options: LiveFileOptions = {}) {
    this.#file = file;
    this.#options = options;
    files.add(this);
  }

  async write(batch: LiveBatch): Promise<"written" | "busy"> {
    if (this.#options.isReadOnly === true)
      throw new Error(`the file ${this.#file} is only read by this process`);
    try {
      return this.#tryToWrite(batch);
    } catch (error) {
      if (!isCorrupt(error)) throw this.#reason(error);
      this.#disconnect();
      if (!isOurs(this.#file)) throw this.#reason(error);
    }
    try {
      remove(this.#file);
      return this.#tryToWrite(batch);
    } catch (error) {
      throw this.#reason(error);
    }
  }

  async read(runs: readonly LivePosition[]): Promise<readonly LiveRow[]> {
    const reader = this.#openReader();
    if (reader === null) return [];
    try {
      return runs.flatMap((run) => rowsOf(reader, run));
    } catch (error) {
      if (!isBusy(error)) this.#closeReader();
      return [];
    }
  }

  version(): number {
    const reader = this.#openReader();
    return reader === null ? 0 : this.#opened * 2 ** 32 + reader.version();
  }

  async announce(runId: string, forMs: number): Promise<void> {
    if (this.#options.isReadOnly !== true) this.#openWriter().run(ANNOUNCE, runId, Date.now() + forMs);
  }

  async isWatched(runId: string): Promise<boolean> {
    const reader = this.#openReader();
    return reader !== null && reader.all(IS_WATCHED, runId, Date.now()).length > 0;
  }

  async forget(runId: string): Promise<void> {
    if (this.#options.isReadOnly === true || statOf(this.#file) === undefined) return;
    this.#openWriter().run("DELETE FROM live WHERE run_id = ?", runId);
  }

  close(): Promise<void> {
    files.delete(this);
    this.#disconnect();
    return Promise.resolve();
  }

  #tryToWrite({ rows, sweepOlderThanMs }: LiveBatch): "written" | "busy" {
    try {
      const writer = this.#openWriter();
      const now = Date.now();
      writer.transaction(() => {
        if (sweepOlderThanMs !== null) {
          writer.run("DELETE FROM live WHERE at < ?", now - sweepOlderThanMs);
          writer.run("DELETE FROM viewers WHERE until < ?", now);
        }
        for (const row of rows) insert(writer, row, now);
      });
      return "written";
    } catch (error) {
      if (isBusy(error)) return "busy";
      throw error;
    }
  }

  #openWriter(): LiveConnection {
    if (this.#writer?.isInPlace() === true) return this.#writer;
    this.#disconnect();
    // The first connection of a process decides whether all of them may write to the memory that they share.
    for (const other of files) if (other.#file === this.#file) other.#closeReader();
    create(this.#file);
    this.#writer = LiveConnection.open(this.#file, {
      firstRow: Date.now() * ROWS_IN_A_MS,
      maxPages: this.#options.maxPages ?? null,
    });
    // The writer must not be the last connection that closes: SQLite would remove the log of whatever file has the name by
    // then. One that only reads removes nothing.
    this.#openReader();
    return this.#writer;
  }

  #openReader(): LiveConnection | null {
    if (this.#reader?.isInPlace() === true) return this.#reader;
    if (this.#reader !== null) this.#closeReader();
    if (performance.now() < this.#retryReadAt || statOf(this.#file) === undefined) return null;
    try {
      this.#reader = LiveConnection.openReadOnly(this.#file);
      this.#opened += 1;
    } catch {
      // Its writer has not made it yet, or has closed it, or it is another program's.
      this.#retryReadAt = performance.now() + RETRY_READ_MS;
    }
    return this.#reader;
  }

  #closeReader(): void {
    // It has to be the last one of this process.
    this.#writer?.close();
    this.#writer = null;
    this.#reader?.close();
    this.#reader = null;
  }

  #disconnect(): void {
    this.#closeReader();
    this.#retryReadAt = 0;
  }

  /** What is wrong, without the advice for the database itself, and without a full stop: a sentence quotes it. */
  #reason(error: unknown): Error {
    const known = storeError(error, this.#file);
    const what = known instanceof Error ? known.message : String(known);
    return new Error(what.replace(/(?:: (?:nothing was written|restore it|give the path).*|\.)$/, ""), {
      cause: error,
    });
  }
}

/** Those of this process, whatever store they belong to. */
const files = new Set<LiveFile>();

const ANNOUNCE = "INSERT OR REPLACE INTO viewers (run_id, until) VALUES (?, ?)";
const IS_WATCHED = "SELECT 1 AS found FROM viewers WHERE run_id = ? AND until > ?";
const DELETE_OTHERS = "DELETE FROM live WHERE run_id = ? AND epoch <= ?";
const INSERT = `INSERT INTO live (run_id, step, turn, attempt, epoch, row_index, at, parts)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;

function insert(writer: LiveConnection, row: NewLiveRow, now: number): void {
  const { runId, step, turn, attempt, epoch, index, parts } = row;
  if (index === 0) writer.run(DELETE_OTHERS, runId, epoch);
  writer.run(INSERT, runId, step, turn, attempt, epoch, index, now, JSON.stringify(parts));
}

const ROWS = `SELECT no, run_id, step, turn, attempt, epoch, row_index, parts FROM live
  WHERE run_id = ? AND no > ? ORDER BY no`;

function rowsOf(reader: LiveConnection, { runId, after }: LivePosition): LiveRow[] {
  return reader.all(ROWS, runId, after).flatMap((row) => {
    const parts = readParts(row.text("parts"));
    if (parts === null) return [];
    return {
      no: row.int("no"),
      runId,
      step: row.text("step"),
      turn: row.int("turn"),
      attempt: row.int("attempt"),
      epoch: row.int("epoch"),
      index: row.int("row_index"),
      parts,
    };
  });
}

/** A new file is private to its owner. The log of one that was deleted is of no use to it. */
function create(file: string): void {
  try {
    closeSync(openSync(file, "ax", 0o600));
  } catch {
    // It exists; or its folder cannot be written to, which opening it reports.
    return;
  }
  for (const suffix of ["-wal", "-shm"]) rmSync(`${file}${suffix}`, { force: true });
}

function remove(file: string): void {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(`${file}${suffix}`, { force: true });
}

/** Where SQLite keeps the mark of the program that a database belongs to. */
const MARK_AT = 68;

/** True if a damaged file has our mark: then it is replaced. Any other is left as it is. */
function isOurs(file: string): boolean {
  const mark = Buffer.alloc(4);
  const descriptor = openSync(file, "r");
  try {
    readSync(descriptor, mark, 0, mark.length, MARK_AT);
  } finally {
    closeSync(descriptor);
  }
  return mark.readUInt32BE() === LIVE_ID;
}
