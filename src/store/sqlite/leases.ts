import { isLeaseHeld, type LeaseFacts, type LeaseOwner, leaseEndsIn } from "../../core/lease.ts";
import type { EffectAttempt } from "../store.ts";
import type { WorkInProgress } from "../work-in-progress.ts";
import { idOf, OwnerFiles, type OwnerLock } from "./owner-lock.ts";
import { placeOf, readSentMarks, type SentBefore, type SentMarks } from "./sent-marks.ts";

/** The lease of a run, as its row has it. */
export type LeaseRow = {
  readonly runId: string;
  readonly owner: string | null;
  readonly epoch: number;
  readonly leaseUntil: number;
  readonly leaseMs: number;
};

/** What is known of the tries that an owner left open. */
export type AbandonedAttempts = {
  /** Whether this try may have left its process. */
  readonly mayHaveSent: (effect: EffectAttempt) => boolean;
  /** Whether whatever it began has ended by now. */
  readonly hasEnded: boolean;
};

/** Everything may have been sent, and be under way. */
export const ANYTHING: AbandonedAttempts = { mayHaveSent: () => true, hasEnded: false };

/** Who holds which run, as far as this store can tell: by locks, by time, and by what it does itself. */
export class Leases {
  readonly #lock: OwnerLock;
  readonly #work: WorkInProgress;
  readonly #marks: SentMarks | null;
  readonly #files: OwnerFiles | null;
  readonly #monotonic: () => number;
  /** Since when a lease has looked as it does. */
  readonly #watched = new Map<string, { readonly lease: string; readonly since: number }>();
  /** Tries of this store that have left and are not settled, by their place. */
  readonly #sent = new Map<string, number>();

  constructor(
    lock: OwnerLock,
    work: WorkInProgress,
    { marks, database, monotonic }: { marks: SentMarks | null; database: string; monotonic: () => number },
  ) {
    this.#lock = lock;
    this.#work = work;
    this.#marks = marks;
    this.#files = database === ":memory:" ? null : new OwnerFiles(database);
    this.#monotonic = monotonic;
  }

  get owner(): string {
    return this.#lock.owner;
  }

  /** What a claim keeps of where this store marks what it sends; null where it does not. */
  get marks(): string | null {
    return this.#lock.isHeld && this.#marks?.isOn === true ? this.#marks.identity : null;
  }

  isHeld(row: LeaseRow, now: number): boolean {
    return isLeaseHeld(this.#facts(row, now));
  }

  /** When it ends, unless it is renewed. */
  endOf(row: LeaseRow, now: number): number {
    return now + leaseEndsIn(this.#facts(row, now));
  }

  /** Marks a try that is about to leave. False: its absence from the marks must not be trusted any more. */
  mark(runId: string, epoch: number, effect: EffectAttempt): boolean {
    this.#sent.set(placeOf(runId, effect), effect.attempt);
    return this.#marks === null || this.#marks.write(runId, epoch, effect);
  }

  /** It did not leave after all. */
  withdraw(runId: string, effect: EffectAttempt): void {
    this.#sent.delete(placeOf(runId, effect));
    this.#marks?.withdraw(runId, effect);
  }

  /** A commit has settled the try. */
  retire(runId: string, effect: Omit<EffectAttempt, "attempt">): void {
    this.#sent.delete(placeOf(runId, effect));
    this.#marks?.retire(runId, effect);
  }

  /** The run is not this store's any more. */
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

  /** What is known of the tries that the owner of this row has left open. */
  leftOpen({ runId, owner, epoch, marks }: LeaseRow & { readonly marks: string | null }): AbandonedAttempts {
    if (owner === null) return ANYTHING;
    if (owner === this.owner) return this.#leftByItself(runId, epoch);
    if (this.#lock.livenessOf(owner) !== "dead") return ANYTHING;
    const sent = this.#marksOf(owner, marks);
    return { mayHaveSent: (effect) => sent === null || sent(runId, epoch, effect), hasEnded: true };
  }

  /** A store knows what its own workers have begun; of one that never attended the run it knows nothing. */
  #leftByItself(runId: string, epoch: number): AbandonedAttempts {
    if (this.#work.stateOf(runId, epoch) === "none") return ANYTHING;
    return {
      mayHaveSent: (effect) => this.#sent.get(placeOf(runId, effect)) === effect.attempt,
      hasEnded: !this.#work.hasEffects(runId),
    };
  }

  /** A mark that is not there says something only in a file that is the owner's, and whole. */
  #marksOf(owner: string, identity: string | null): SentBefore | null {
    const id = idOf(owner);
    if (this.#files === null || id === null || identity === null) return null;
    return readSentMarks(this.#files.marksFile(id), identity);
  }

  #facts(row: LeaseRow, now: number): LeaseFacts {
    return {
      owner: this.#ownerOf(row.owner),
      remainingMs: row.leaseUntil - now,
      leaseMs: row.leaseMs,
      unchangedMs: this.#unchangedFor(row),
      own: this.#work.stateOf(row.runId, row.epoch),
    };
  }

  #ownerOf(owner: string | null): LeaseOwner {
    if (owner === null) return "nobody";
    return owner === this.owner ? "self" : this.#lock.livenessOf(owner);
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
