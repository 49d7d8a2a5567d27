import type { Leases } from "../leases.ts";
import type { Row } from "../row.ts";
import type { RunHead } from "../run-head.ts";
import type { SqlScript } from "../script.ts";
import type { Transaction } from "../transaction.ts";
import type { Write } from "../write.ts";
import type { Statement } from "./server-session.ts";

/** An intent that was submitted. */
export type SubmittedIntent = {
  readonly intent: string;
  readonly runId: string | null;
  readonly script: (tx: Transaction) => SqlScript<unknown>;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
};

/** An intent with all of its writes: the same bytes, however often they are sent. */
export type CommitPlan = {
  readonly pending: SubmittedIntent;
  readonly value: unknown;
  readonly writes: readonly Write[];
};

/** What intents share inside this process. */
export type PlanContext = Pick<
  Transaction,
  "leases" | "heads" | "newRunKey" | "mayTakeFrom" | "lockRuns" | "lockName"
>;

/** Collects the writes of an intent. */
class PlannedTransaction implements Transaction {
  readonly now: number;
  readonly leases: Leases;
  readonly heads: Map<string, RunHead>;
  readonly newRunKey: Transaction["newRunKey"];
  readonly mayTakeFrom: Transaction["mayTakeFrom"];
  readonly lockRuns: Transaction["lockRuns"];
  readonly lockName: Transaction["lockName"];
  readonly writes: Write[] = [];

  constructor(now: number, { leases, heads, newRunKey, mayTakeFrom, lockRuns, lockName }: PlanContext) {
    this.now = now;
    this.leases = leases;
    this.heads = heads;
    this.newRunKey = newRunKey;
    this.mayTakeFrom = mayTakeFrom;
    this.lockRuns = lockRuns;
    this.lockName = lockName;
  }

  write(write: Write): void {
    this.writes.push(write);
  }
}

/** An intent that is being run: its script continues with each answer. */
export class PlannedIntent {
  readonly pending: SubmittedIntent;
  readonly #tx: PlannedTransaction;
  readonly #script: SqlScript<unknown>;
  #step: ReturnType<SqlScript<unknown>["next"]> | null = null;
  #isBegun = false;
  #sent = 0;

  constructor(pending: SubmittedIntent, now: number, context: PlanContext) {
    this.pending = pending;
    this.#tx = new PlannedTransaction(now, context);
    this.#script = pending.script(this.#tx);
  }

  /** Runs the script up to its next query, or to its end. Throws what the script throws: the intent is refused. */
  advance(answer: readonly Row[] = []): void {
    // One that throws waits for nothing any more.
    this.#step = null;
    this.#step = this.#isBegun ? this.#script.next(answer) : this.#begin();
  }

  #begin(): ReturnType<SqlScript<unknown>["next"]> {
    this.#isBegun = true;
    return this.#script.next();
  }

  /** The query that the script waits for; null at its end. */
  get query(): Statement | null {
    return this.#step === null || this.#step.done === true ? null : this.#step.value;
  }

  /** True if the server has got a write of it: undoing it undoes the transaction. */
  get hasSent(): boolean {
    return this.#sent > 0;
  }

  /** The writes that were not sent yet. */
  takeUnsent(): readonly Write[] {
    const unsent = this.#tx.writes.slice(this.#sent);
    this.#sent = this.#tx.writes.length;
    return unsent;
  }

  /** Null until the script has ended. */
  get plan(): CommitPlan | null {
    if (this.#step?.done !== true) return null;
    return { pending: this.pending, value: this.#step.value, writes: this.#tx.writes };
  }
}

/** Groups in which each run is once, in order; an intent of no single run has a group of its own. */
export function oneOfEachRun(intents: readonly SubmittedIntent[]): SubmittedIntent[][] {
  const rounds: SubmittedIntent[][] = [];
  const next = new Map<string, number>();
  for (const pending of intents) {
    const round = pending.runId === null ? rounds.length : (next.get(pending.runId) ?? 0);
    if (pending.runId !== null) next.set(pending.runId, round + 1);
    const group = rounds[round];
    if (group === undefined) rounds.push([pending]);
    else group.push(pending);
  }
  return rounds;
}
