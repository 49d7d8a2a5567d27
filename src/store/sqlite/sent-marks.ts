import { hash } from "node:crypto";
import { closeSync, fstatSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { placeOf } from "../sql/leases.ts";
import type { SentBefore } from "../sql/owners.ts";
import type { EffectAttempt } from "../store.ts";
import { FolderLook, idOf, statOf } from "./folder-look.ts";

/**
 * Marks that requests and calls were about to be sent: a file beside the database, without fsync, that outlives the
 * process but not a crash of the machine. If an attempt is open, its process is dead and it has no mark, then nothing
 * was sent.
 *
 * The file is allocated in full at the start, and a mark takes a free slot in it, so it never grows and a full disk
 * does not prevent a mark. Its end marker is written once: a file that was truncated has none, whatever is written to
 * it later.
 */
export class SentMarks {
  /** Device and inode: another file of that name has a different identity. */
  readonly identity: string;
  readonly #file: string;
  readonly #folder: FolderLook;
  readonly #descriptor: number;
  readonly #slots = new Map<string, number>();
  readonly #free: number[] = Array.from({ length: SLOTS }, (_, i) => SLOTS - 1 - i);
  #isBroken = false;
  #isClosed = false;

  private constructor(file: string, descriptor: number) {
    this.#file = file;
    this.#folder = new FolderLook(dirname(file));
    this.#descriptor = descriptor;
    this.identity = idOf(fstatSync(descriptor, { bigint: true }));
  }

  /** Null if the file cannot be created: then any attempt that a dead process left open may have been sent. */
  static make(file: string): SentMarks | null {
    let descriptor: number | undefined;
    try {
      descriptor = openSync(file, "wx", 0o600);
      writeSync(descriptor, Buffer.alloc(SIZE));
      writeSync(descriptor, HEADER, 0, HEADER.length, 0);
      writeSync(descriptor, END, 0, END.length, END_AT);
      return new SentMarks(file, descriptor);
    } catch {
      if (descriptor !== undefined) closeSync(descriptor);
      rmSync(file, { force: true });
      return null;
    }
  }

  get isOn(): boolean {
    return !this.#isBroken;
  }

  /** Writes the mark of an attempt. False if it failed: from then on a missing mark proves nothing. */
  write(runId: string, epoch: number, effect: EffectAttempt): boolean {
    const key = placeOf(runId, effect);
    const slot = this.#slots.get(key) ?? this.#free.pop();
    if (slot === undefined || this.#isBroken) return false;
    this.#slots.set(key, slot);
    try {
      const written = writeSync(
        this.#descriptor,
        markOf(runId, epoch, effect),
        0,
        MARK_BYTES,
        offsetOf(slot),
      );
      if (written === MARK_BYTES && this.#isInPlace()) return true;
    } catch {
      // The disk fails.
    }
    this.#isBroken = true;
    return false;
  }

  /** A commit has settled the attempt: its mark is no longer needed. */
  retire(runId: string, effect: Omit<EffectAttempt, "attempt">): void {
    const key = placeOf(runId, effect);
    const slot = this.#slots.get(key);
    if (slot === undefined) return;
    this.#slots.delete(key);
    this.#free.push(slot);
  }

  /**
   * The attempt was not sent after all: its mark is removed. A mark that cannot be removed only means that it may
   * have been sent.
   */
  withdraw(runId: string, effect: EffectAttempt): void {
    const slot = this.#slots.get(placeOf(runId, effect));
    try {
      if (slot !== undefined) writeSync(this.#descriptor, NO_MARK, 0, MARK_BYTES, offsetOf(slot));
    } catch {
      // The disk fails.
    }
    this.retire(runId, effect);
  }

  close(): void {
    if (!this.#isClosed) closeSync(this.#descriptor);
    this.#isClosed = true;
    this.#isBroken = true;
  }

  #isInPlace(): boolean {
    return this.#folder.isInPlace(() => isWhole(this.#file, this.identity));
  }
}

/** The marks of a dead process. Null if the file is not the one it wrote, or not intact: then nothing is known. */
export function readSentMarks(file: string, identity: string): SentBefore | null {
  try {
    if (!isWhole(file, identity)) return null;
    const bytes = readFileSync(file);
    const isOurs = bytes.length === SIZE && bytes.indexOf(HEADER) === 0 && bytes.lastIndexOf(END) === END_AT;
    if (!isOurs) return null;
    const marks = new Set(
      Array.from({ length: SLOTS }, (_, slot) =>
        bytes.toString("latin1", offsetOf(slot), offsetOf(slot) + MARK_BYTES),
      ),
    );
    return (runId, epoch, effect) => marks.has(markOf(runId, epoch, effect).toString("latin1"));
  } catch {
    return null;
  }
}

const HEADER = Buffer.from("Pawl sent marks 2\n");
const MARK_BYTES = 32;
const NO_MARK = Buffer.alloc(MARK_BYTES);
const SLOTS = 512;
const FIRST_SLOT = 64;
const END_AT = FIRST_SLOT + SLOTS * MARK_BYTES;
const END = Buffer.from("end\n");
const SIZE = END_AT + END.length;

function offsetOf(slot: number): number {
  return FIRST_SLOT + slot * MARK_BYTES;
}

function markOf(runId: string, epoch: number, effect: EffectAttempt): Buffer {
  return hash("sha256", `${placeOf(runId, effect)}\n${epoch}\n${effect.attempt}`, "buffer");
}

function isWhole(file: string, identity: string): boolean {
  const stat = statOf(file);
  return stat !== undefined && idOf(stat) === identity && stat.size === BigInt(SIZE);
}
