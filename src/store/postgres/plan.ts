import type { Leases } from "../sql/leases.ts";
import type { RunHead } from "../sql/run-head.ts";
import type { SqlScript } from "../sql/script.ts";
import type { Transaction } from "../sql/transaction.ts";
import type { Write } from "../sql/write.ts";

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
export type PlanContext = {
  readonly leases: Leases;
  readonly heads: Map<string, RunHead>;
  readonly newRunKey: Transaction["newRunKey"];
  readonly mayTakeFrom: Transaction["mayTakeFrom"];
  readonly lockRuns: Transaction["lockRuns"];
};

/** Collects the writes of an intent. */
export class PlannedTransaction implements Transaction {
  readonly now: number;
  readonly leases: Leases;
  readonly heads: Map<string, RunHead>;
  readonly newRunKey: Transaction["newRunKey"];
  readonly mayTakeFrom: Transaction["mayTakeFrom"];
  readonly lockRuns: Transaction["lockRuns"];
  readonly writes: Write[] = [];
  #sent = 0;

  constructor(now: number, { leases, heads, newRunKey, mayTakeFrom, lockRuns }: PlanContext) {
    this.now = now;
    this.leases = leases;
    this.heads = heads;
    this.newRunKey = newRunKey;
    this.mayTakeFrom = mayTakeFrom;
    this.lockRuns = lockRuns;
  }

  write(write: Write): void {
    this.writes.push(write);
  }

  /** The writes that were not sent yet. */
  takeUnsent(): readonly Write[] {
    const unsent = this.writes.slice(this.#sent);
    this.#sent = this.writes.length;
    return unsent;
  }
}
