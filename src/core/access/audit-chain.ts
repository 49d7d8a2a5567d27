import { chainHash, NO_EVENT_HASH } from "../event-chain.ts";
import type { Role } from "./role.ts";

/** Something that a person did or read through a server. */
export type AuditEntry = {
  /** The person, with the token or code that the request was made with, and its role; null if it had none. */
  readonly who: { readonly name: string; readonly id: string | null; readonly role: Role | null };
  /** The operation: `runs.cancel`. */
  readonly act: string;
  /** The run, wait, token or schedule that it was about. */
  readonly target: string | null;
  /** How it ended: the status of the HTTP response, and the code of the problem. */
  readonly status: number;
  readonly problem: string | null;
  readonly requestId: string | null;
};

/** An entry of the log, with its number, from 1. */
export type AuditRecord = AuditEntry & { readonly no: number; readonly at: number };

/** An entry, as it is stored: with the hash of the one before it, and its own, which covers both. */
export type ChainedEntry = AuditRecord & {
  readonly previousHash: Uint8Array;
  readonly hash: Uint8Array;
};

/** The end of the log, before its first entry. */
export const NO_ENTRY = { no: 0, hash: NO_EVENT_HASH } as const;

/** The act that removes the oldest entries. Its target says which. */
export const TRIM_ACT = "audit.trim";

/** The numbers of the first and the last entry that a trim has removed. */
type TrimmedRange = { readonly first: number; readonly last: number };

/** `1-20` */
export function trimTarget({ first, last }: TrimmedRange): string {
  return `${first}-${last}`;
}

/** Null for a target of another act. */
export function trimmedRange(target: string | null): TrimmedRange | null {
  const [, first, last] = /^(\d+)-(\d+)$/.exec(target ?? "") ?? [];
  return first === undefined || last === undefined ? null : { first: Number(first), last: Number(last) };
}

/** Longer texts, which a person may have put into an address, are cut. */
const MOST_CHARACTERS = 300;

/** The entries in their order behind the last one of the log. */
export function chainEntries(
  last: Pick<ChainedEntry, "no" | "hash">,
  at: number,
  entries: readonly AuditEntry[],
): readonly ChainedEntry[] {
  const chained: ChainedEntry[] = [];
  let { no, hash: previousHash } = last;
  for (const entry of entries) {
    no += 1;
    const record = { ...storable(entry), no, at };
    const hash = entryHash(record, previousHash);
    chained.push({ ...record, previousHash, hash });
    previousHash = hash;
  }
  return chained;
}

function entryHash(record: AuditRecord, previous: Uint8Array): Uint8Array {
  const { no, at, who, act, target, status, problem, requestId } = record;
  const facts = [who.name, who.id, who.role, target, status, problem, requestId];
  return chainHash(previous, no, at, act, JSON.stringify(facts));
}

/** Databases store half of a surrogate pair in their own way, and indexes take no long texts. */
function storable({ who, act, target, status, problem, requestId }: AuditEntry): AuditEntry {
  const text = (given: string) => given.slice(0, MOST_CHARACTERS).toWellFormed();
  const optional = (given: string | null) => (given === null ? null : text(given));
  return {
    who: { name: text(who.name), id: optional(who.id), role: who.role },
    act: text(act),
    target: optional(target),
    status,
    problem: optional(problem),
    requestId: optional(requestId),
  };
}

/** What is wrong with the log, and with which entry. */
export type AuditProblem = { readonly no: number; readonly what: string };

/** Checks the entries of the log, which it takes in order. */
export class AuditChain {
  #first: ChainedEntry | null = null;
  #last: ChainedEntry | null = null;
  #firstKept = 1;
  #problem: AuditProblem | null = null;

  take(entry: ChainedEntry): void {
    const last = this.#last;
    this.#first ??= entry;
    this.#last = entry;
    if (entry.act === TRIM_ACT) this.#firstKept = (trimmedRange(entry.target)?.last ?? 0) + 1;
    if (last !== null && entry.no !== last.no + 1) this.#report(last.no + 1, "is missing");
    if (last !== null && !Buffer.from(entry.previousHash).equals(last.hash))
      this.#report(entry.no, "does not follow the entry before it");
    if (!Buffer.from(entryHash(entry, entry.previousHash)).equals(entry.hash))
      this.#report(entry.no, "was changed");
  }

  /** After the last entry: the first problem; null if the chain holds. */
  end(): AuditProblem | null {
    const first = this.#first;
    if (first !== null && first.no !== this.#firstKept) {
      const [no, what] = [Math.min(first.no, this.#firstKept), "is missing, and no trim has removed it"];
      return { no, what };
    }
    if (first?.no === 1 && !Buffer.from(first.previousHash).equals(NO_EVENT_HASH))
      return { no: 1, what: "does not begin the log" };
    return this.#problem;
  }

  #report(no: number, what: string): void {
    this.#problem ??= { no, what };
  }
}
