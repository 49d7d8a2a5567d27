import { hash } from "node:crypto";
import { isJsonObject, type Json, type JsonObject } from "./json.ts";

// The events of a run are a chain of hashes, so a changed, removed or moved event breaks it. They carry the digests of
// the rows that they cover, so a changed, removed or added row does not match its event. Nothing here knows where the
// events and the rows come from.

/** An event with its facts as the text that its hash covers. */
export type ChainedEvent = {
  readonly seq: number;
  readonly at: number;
  readonly type: string;
  readonly data: string;
  readonly hash: Uint8Array;
};

/** What the run itself has recorded about its last event. */
type RecordedEnd = { readonly seq: number; readonly hash: Uint8Array; readonly at: number };

/** Something that is not what was written. */
export type ChainProblem = { readonly row: string; readonly what: string };

export const GONE = "is missing, but an event covers it";
export const CHANGED = "is not what was written: its digest differs from the one in its event";
const UNCOVERED = "was not written by Pawl: no event covers it";
export const BROKEN = "was changed, moved, or follows one that was";
export const NOT_THE_LAST = "is not the last event that the run recorded";

/** The hash before the first event. */
export const NO_EVENT_HASH = new Uint8Array(32);

/** The hash of an event covers its content and the hash of the previous event. */
export function chainHash(previous: Uint8Array, seq: number, at: number, type: string, data: string): Buffer {
  const text = `${seq}\n${at}\n${type}\n${data}`;
  const bytes = Buffer.allocUnsafe(previous.byteLength + Buffer.byteLength(text, "utf8"));
  bytes.set(previous);
  bytes.write(text, previous.byteLength, "utf8");
  return hash("sha256", bytes, "buffer");
}

/** True if the event has the hash that it should have after that one. */
export function followsHash({ seq, at, type, data, hash }: ChainedEvent, previous: Uint8Array): boolean {
  return chainHash(previous, seq, at, type, data).equals(hash);
}

/** The facts of an event, which may have been tampered with. */
export function factsOf(data: string): JsonObject {
  try {
    const facts = JSON.parse(data) as Json;
    return isJsonObject(facts) ? facts : {};
  } catch {
    return {};
  }
}

/** The rows that an event covers, by name, each with its digest; null if the row was removed. */
export function coveredRowsIn({ rows }: JsonObject): [name: string, digest: string | null][] {
  const covered: [string, string | null][] = [];
  for (const row of Array.isArray(rows) ? (rows as readonly Json[]) : []) {
    const [name, digest] = Array.isArray(row) ? (row as readonly Json[]) : [];
    if (typeof name === "string" && (typeof digest === "string" || digest === null))
      covered.push([name, digest]);
  }
  return covered;
}

/** The charges, reservations and last numbers of the run after an event, as a text to compare. */
export function headIn({ head }: JsonObject): string | null {
  return Array.isArray(head) ? String(head) : null;
}

/** The most missing events to name one by one: a forged number would name millions. */
const MAX_LISTED_MISSING = 100;

/** Checks the events of a run, which it takes in order, and collects what they cover. */
export class EventChain {
  readonly problems: ChainProblem[] = [];
  /** Name → the digest in the newest event that covers the row. */
  readonly digests = new Map<string, string>();
  #head: string | null = null;
  #expected = 1;
  #previous: Uint8Array = NO_EVENT_HASH;
  #lastAt: number | null = null;
  #isLastWhole = true;

  /** The charges, reservations and last numbers after the newest event. */
  get head(): string | null {
    return this.#head;
  }

  /** Returns the names of the rows that the event covers, and false if it is not what was written. */
  take(event: ChainedEvent): { readonly names: readonly string[]; readonly isWhole: boolean } {
    const { seq } = event;
    this.#reportMissing(seq);
    this.#expected = Math.max(this.#expected, seq + 1);
    this.#isLastWhole = followsHash(event, this.#previous);
    if (!this.#isLastWhole) this.#report(`event ${seq}`, BROKEN);
    // Continue from the stored hash: one broken event is reported once, not with all that follow it.
    this.#previous = event.hash;
    this.#lastAt = event.at;
    const facts = factsOf(event.data);
    const rows = coveredRowsIn(facts);
    for (const [name, digest] of rows)
      if (digest === null) this.digests.delete(name);
      else this.digests.set(name, digest);
    this.#head = headIn(facts);
    return { names: rows.map(([name]) => name), isWhole: this.#isLastWhole };
  }

  /** After the last event. */
  end(run: RecordedEnd): void {
    this.#reportMissing(run.seq + 1);
    if (this.#expected > run.seq + 1) this.#report(`event ${this.#expected - 1}`, "was not written by Pawl");
    else if (!Buffer.from(run.hash).equals(this.#previous)) this.#report(`event ${run.seq}`, NOT_THE_LAST);
    else if (this.#isLastWhole && this.#lastAt !== run.at)
      this.#report("run", "was last changed at another time than its last event");
  }

  /** Reports the events that are missing before this one. */
  #reportMissing(seq: number): void {
    const last = Math.min(seq, this.#expected + MAX_LISTED_MISSING);
    for (let missing = this.#expected; missing < last; missing++)
      this.#report(`event ${missing}`, "is missing");
    if (last < seq) this.#report(`event ${last}`, `is missing, and so are all up to ${seq - 1}`);
  }

  #report(row: string, what: string): void {
    this.problems.push({ row, what });
  }
}

/** Compares rows, which it takes in any order, with the digests that events have of them. */
export class RowComparison {
  readonly #expected: Map<string, string>;
  readonly #changed = new Set<string>();
  readonly #uncovered: string[] = [];

  constructor(digests: Iterable<readonly [name: string, digest: string]>) {
    this.#expected = new Map(digests);
  }

  /** Returns false if the row is not what was written. */
  take(name: string, digest: string): boolean {
    const expected = this.#expected.get(name);
    if (expected === undefined) this.#uncovered.push(name);
    else if (expected !== digest) this.#changed.add(name);
    else this.#expected.delete(name);
    return expected === digest;
  }

  /** In the order of the events, and then the rows that no event covers. */
  problems(): ChainProblem[] {
    const found: ChainProblem[] = [];
    for (const row of this.#expected.keys())
      found.push({ row, what: this.#changed.has(row) ? CHANGED : GONE });
    for (const row of this.#uncovered) found.push({ row, what: UNCOVERED });
    return found;
  }
}
