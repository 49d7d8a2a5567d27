import { statSync } from "node:fs";
import { join } from "node:path";
import { PawlError, StoreUnavailableError, StoreUnusableError } from "../../core/errors.ts";

/** The primary result codes of SQLite that we distinguish. */
const BUSY = 5;
const LOCKED = 6;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const NOTADB = 26;

function primaryCode(error: unknown): number | null {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === "number" ? code & 0xff : null;
}

export function isBusy(error: unknown): boolean {
  const code = primaryCode(error);
  return code === BUSY || code === LOCKED;
}

/** True if the file is no database, or a damaged one. */
export function isCorrupt(error: unknown): boolean {
  const code = primaryCode(error);
  return code === CORRUPT || code === NOTADB;
}

/** True if the file system failed, not SQLite. */
export function isFileError(error: unknown): boolean {
  return primaryCode(error) === IOERR;
}

export function unknownCommit(cause: unknown, file: string): StoreUnavailableError {
  return new StoreUnavailableError(
    `The database ${file} failed in the file system while a write was made durable, so it is unknown whether it was stored: check the disk, and look whether it was before you repeat it.`,
    { reason: "commit_unknown" },
    { cause },
  );
}

/** Turns an error of SQLite into one sentence: what happened, to what, and what to do. */
export function storeError(error: unknown, file: string): unknown {
  if (PawlError.isInstance(error)) return error;
  const code = primaryCode(error);
  if (code === null) return error;
  const options = { cause: error };
  switch (code) {
    case BUSY:
    case LOCKED:
      return new StoreUnavailableError(
        `The database ${file} is locked by another process: nothing was written; try again when it is free.`,
        { reason: "busy" },
        options,
      );
    case FULL:
      return new StoreUnavailableError(
        `The disk (or the size limit) of the database ${file} is full: nothing was written; free some space and resume.`,
        { reason: "full" },
        options,
      );
    case READONLY:
      return readOnlyError(file, error);
    case CANTOPEN:
      return new StoreUnavailableError(
        isFolder(file)
          ? `The database ${file} cannot be opened, because it is a folder: give the path of a file, such as ${join(file, "pawl.db")}.`
          : `The database ${file} cannot be opened: check that its folder exists and may be written to.`,
        { reason: "cannot_open" },
        options,
      );
    case IOERR:
      return new StoreUnavailableError(
        `Reading or writing the database ${file} failed in the file system: nothing was written; check the disk and resume.`,
        { reason: "io" },
        options,
      );
    case CORRUPT:
    case NOTADB:
      return new StoreUnusableError(
        `The file ${file} is not an intact SQLite database: restore it from a backup, or name another file; it was left as it is.`,
        { reason: "corrupt" },
        options,
      );
    default:
      return error;
  }
}

export function readOnlyError(file: string, cause: unknown): StoreUnavailableError {
  return new StoreUnavailableError(
    `The database ${file} cannot be written to: make the file and its folder writable and try again.`,
    { reason: "read_only" },
    { cause },
  );
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
