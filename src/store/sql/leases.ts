import { isLeaseHeld, type LeaseFacts, type LeaseOwner, leaseEndsIn } from "../../core/run/lease.ts";
import type { EffectAttempt } from "../store.ts";
import type { WorkInProgress } from "../work-in-progress.ts";
import type { OwnerWatch, SentBefore, SentNotes } from "./owners.ts";
import type { Write } from "./write.ts";

/** An event that is known to be durable. */
export type KnownEvent = { readonly seq: number; readonly hash: Uint8Array };

/** The lease of a run, as stored in its row. */
export type LeaseRow = {
  readonly runId: string;
  readonly owner: string | null;
  readonly epoch: number;
  readonly leaseUntil: number;
  readonly leaseMs: number;
};

/** What is known about the attempts that an owner left open. */
export type AbandonedAttempts = {
  /** True if this attempt may have left its process. */
  readonly mayHaveSent: (effect: EffectAttempt) => boolean;
  /** True if everything it began has ended. */
  readonly hasEnded: boolean;
};

/** Everything may have been sent, and may still be running. */
export const ANYTHING: AbandonedAttempts = { mayHaveSent: () => true, hasEnded: false };

/** Which owner holds which run, as far as this store can know: from locks, from time, and from its own work. */
export class Leases {
  readonly #owners: OwnerWatch;
  readonly #work: WorkInProgress;
  readonly #notes: SentNotes;
  readonly #monotonic: () => number;
  /** When each lease was first seen in its current state. */
  readonly #watched = new Map<string, { readonly lease: string; readonly since: number }>();
  /** Attempts of this store that were sent and are not settled, by `placeOf`. */
  readonly #sent = new Map<string, number>();
  /** The last event of each run that this store holds, where a server may lose it. */
  readonly #known = new Map<string, KnownEvent>();

  constructor(owners: OwnerWatch, work: WorkInProgress, notes: SentNotes, monotonic: () => number) {
    this.#owners = owners;
    this.#work = work;
    this.#notes = notes;
    this.#monotonic = monotonic;
  }

  get owner(): string {
    return this.#owners.owner;
  }

  /** Identifies the notes of what this store sends, for a claim to record; null if it writes none. */
  get marks(): string | null {
    return this.#notes.identity;
  }

  isHeld(row: LeaseRow, now: number): boolean {
    return isLeaseHeld(this.#facts(row, now));
  }

  /** When it ends, unless it is renewed. */
  endOf(row: LeaseRow, now: number): number {
    return now + leaseEndsIn(this.#facts(row, now));
  }

  /**
   * Marks an attempt that is about to be sent. False if the mark was not written: from then on a missing mark proves
   * nothing.
   */
  mark(runId: string, epoch: number, effect: EffectAttempt): boolean {
    this.#sent.set(placeOf(runId, effect), effect.attempt);
    return this.#notes.write(runId, epoch, effect);
  }

  /** The attempt was not sent after all. */
  withdraw(runId: string, effect: EffectAttempt): void {
    this.#sent.delete(placeOf(runId, effect));
    this.#notes.withdraw(runId, effect);
  }

  /** A commit has settled the attempt. */
  retire(runId: string, effect: Omit<EffectAttempt, "attempt">): void {
    this.#sent.delete(placeOf(runId, effect));
    this.#notes.retire(runId, effect);
  }

  /** The last event of a run of this store that is durable; null if none was remembered. */
  lastEvent(runId: string): KnownEvent | null {
    return this.#known.get(runId) ?? null;
  }

  /** A commit is durable. An event that gives the run to an owner, or to none, says so. */
  remember(runId: string, event: KnownEvent, owner?: string | null): void {
    const isOwn = owner === undefined ? this.#known.has(runId) : owner === this.owner;
    if (isOwn) this.#known.set(runId, event);
    else this.#known.delete(runId);
  }

  /** The run no longer belongs to this store. */
  forget(runId: string): void {
    this.#watched.delete(runId);
    this.#work.forget(runId);
    for (const place of this.#sent.keys()) {
      const [id, stepKey, turnIndex, callIndex] = place.split("\n");
      if (id === runId)
        this.retire(runId, {
          stepKey: Number(stepKey),
          turnIndex: Number(turnIndex),
          callIndex: Number(callIndex),
        });
    }
  }

  /** What is known about the attempts that the owner of this row left open. */
  leftOpen({ runId, owner, epoch, marks }: LeaseRow & { readonly marks: string | null }): AbandonedAttempts {
    if (owner === null) return ANYTHING;
    if (owner === this.owner) return this.#leftByItself(runId, epoch);
    if (this.#owners.livenessOf(owner, 0) !== "dead") return ANYTHING;
    const sent = this.#notesOf(owner, marks);
    return { mayHaveSent: (effect) => sent === null || sent(runId, epoch, effect), hasEnded: true };
  }

  /** A store knows what its own workers have begun; if none was registered for the run, it knows nothing. */
  #leftByItself(runId: string, epoch: number): AbandonedAttempts {
    if (this.#work.stateOf(runId, epoch) === "none") return ANYTHING;
    return {
      mayHaveSent: (effect) => this.#sent.get(placeOf(runId, effect)) === effect.attempt,
      hasEnded: !this.#work.hasEffects(runId),
    };
  }

  /** A missing note is evidence only among notes that are the owner's own, and intact. */
  #notesOf(owner: string, identity: string | null): SentBefore | null {
    return identity === null ? null : this.#notes.notesOf(owner, identity);
  }

  #facts(row: LeaseRow, now: number): LeaseFacts {
    return {
      owner: this.#ownerOf(row),
      remainingMs: row.leaseUntil - now,
      leaseMs: row.leaseMs,
      unchangedMs: this.#unchangedFor(row),
      own: this.#work.stateOf(row.runId, row.epoch),
    };
  }

  #ownerOf({ owner, leaseUntil, leaseMs }: LeaseRow): LeaseOwner {
    if (owner === null) return "nobody";
    return owner === this.owner ? "self" : this.#owners.livenessOf(owner, leaseUntil - leaseMs);
  }

  #unchangedFor({ runId, owner, epoch, leaseUntil }: LeaseRow): number {
    const lease = `${owner} ${epoch} ${leaseUntil}`;
    const now = this.#monotonic();
    const known = this.#watched.get(runId);
    if (known?.lease === lease) return now - known.since;
    if (owner !== null && owner !== this.owner) this.#watched.set(runId, { lease, since: now });
    return 0;
  }
}

/** Remembers the events of writes that are durable. */
export function rememberEvents(leases: Leases, writes: readonly Write[]): void {
  for (const write of writes) {
    if (write.kind !== "advance") continue;
    const { event_seq: seq, event_hash: hash, owner } = write.set;
    if (typeof seq !== "number" || !(hash instanceof Uint8Array))
      throw new Error("A head moves to no event.");
    leases.remember(
      write.runId,
      { seq, hash },
      typeof owner === "string" ? owner : owner === null ? null : undefined,
    );
  }
}

/** Where an attempt belongs, as a text. */
export function placeOf(
  runId: string,
  { stepKey, turnIndex, callIndex }: Omit<EffectAttempt, "attempt">,
): string {
  return `${runId}\n${stepKey}\n${turnIndex}\n${callIndex}`;
}
