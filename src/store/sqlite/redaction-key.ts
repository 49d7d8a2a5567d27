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
 * The key for digests of hidden values. It is in a file of its own beside the database, readable by its owner only,
 * so that a copy of the database is not enough to guess hidden values. A store in memory has a key of its own.
 */
export class RedactionKey {
  readonly #file: string | null;
  #key: Uint8Array | null = null;

  constructor(database: string) {
    this.#file = database === ":memory:" ? null : `${database}-key`;
  }

  /** Created on first use: most stores never hide anything. */
  get(options: KeyOptions): Uint8Array {
    this.#key ??= this.#file === null ? randomBytes(KEY_BYTES) : keyIn(this.#file, options);
    return this.#key;
  }
}

type KeyOptions = { readonly isReadOnly: boolean };

function keyIn(file: string, options: KeyOptions): Uint8Array {
  const known = readKey(file);
  if (known !== null) return known;
  // A reader stores no digests either.
  if (options.isReadOnly) return randomBytes(KEY_BYTES);
  makeKey(file);
  return readKey(file) ?? keyIn(file, options);
}

/** Null if there is none. */
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

/**
 * Written and synced before it gets its name. If another process does the same at the same time, the first one wins.
 */
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

/** For a file system without links. */
function copyUnlessThere(draft: string, file: string): void {
  try {
    copyFileSync(draft, file, constants.COPYFILE_EXCL);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
}
