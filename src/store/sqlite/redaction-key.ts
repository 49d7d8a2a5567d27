import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from "node:fs";
import { StoreUnavailableError } from "../../core/errors.ts";
import { codeOf } from "../guarded-folder.ts";

const KEY_BYTES = 32;

/**
 * The key that digests of hidden values are made with. It stands in a file of its own beside the database, for its owner alone:
 * whoever has a copy of the database cannot try out what was hidden. A store in memory has one of its own.
 */
export class RedactionKey {
  readonly #file: string | null;
  #key: Uint8Array | null = null;

  constructor(database: string) {
    this.#file = database === ":memory:" ? null : `${database}-key`;
  }

  /** Made when it is first asked for: most stores never hide anything. */
  get(isReadOnly: boolean): Uint8Array {
    this.#key ??= this.#file === null ? randomBytes(KEY_BYTES) : keyIn(this.#file, isReadOnly);
    return this.#key;
  }
}

function keyIn(file: string, isReadOnly: boolean): Uint8Array {
  const known = readKey(file);
  if (known !== null) return known;
  // One that only reads stores no digest either.
  if (isReadOnly) return randomBytes(KEY_BYTES);
  makeKey(file);
  return readKey(file) ?? keyIn(file, isReadOnly);
}

/** Null where there is none. */
function readKey(file: string): Uint8Array | null {
  try {
    const text = readFileSync(file, "latin1").trim();
    if (/^[0-9a-f]{64}$/.test(text)) return Buffer.from(text, "hex");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw unusable(file, `cannot be read (${codeOf(error)})`, error);
  }
  throw unusable(file, "is not what was written there");
}

function unusable(file: string, why: string, cause?: unknown): StoreUnavailableError {
  return new StoreUnavailableError(
    `The key that digests of secrets are made with, ${file}, ${why}: put it back as it was (or move it away, and digests from now on cannot be compared with earlier ones), or give the runner a policy.redactionKey.`,
    { reason: "redaction_key" },
    { cause },
  );
}

/** Whole and on the disk before it has its name; another process that is just doing the same comes first, or second. */
function makeKey(file: string): void {
  const draft = `${file}-${randomBytes(6).toString("hex")}`;
  const descriptor = openSync(draft, "wx", 0o600);
  try {
    writeSync(descriptor, `${randomBytes(KEY_BYTES).toString("hex")}\n`);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  try {
    giveName(draft, file);
  } finally {
    rmSync(draft, { force: true });
  }
}

function giveName(draft: string, file: string): void {
  try {
    linkSync(draft, file);
  } catch (error) {
    if (codeOf(error) === "EEXIST") return;
    copyUnlessThere(draft, file);
  }
}

/** On a file system without links. */
function copyUnlessThere(draft: string, file: string): void {
  try {
    copyFileSync(draft, file, constants.COPYFILE_EXCL);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
}
