import type { StepPath } from "../../core/step-path.ts";
import type { Quota } from "../../core/usage/quota.ts";
import type { Amount } from "../../core/usage/usage.ts";

/**
 * The part of a run that intents read and change: its owner, its charges, the state of its steps, and the head of its
 * log.
 *
 * It is cached in memory from one intent to the next. That is safe because every intent writes the run's row, and
 * only if the head of the log is still the cached one: any other change to the run has moved it. A refused intent is
 * retried on fresh data from the database.
 */
export type RunHead = {
  readonly runNo: number;
  readonly runId: string;
  owner: string | null;
  epoch: number;
  quota: Quota;
  eventSeq: number;
  eventHash: Uint8Array;
  /** The steps of this run that were read so far, by number. */
  readonly steps: Map<number, StepHead>;
  /** True if a wait is open; null if not looked up yet. Only a release of the run opens waits. */
  hasOpenWaits: boolean | null;
  /** True if a call of the run has failed and may have happened; null if not looked up yet. */
  hasUncertainCalls: boolean | null;
  /** The rows that the current intent has written and removed, for its event to cover. */
  readonly writtenRows: Map<string, CoveredRowKey>;
  readonly removedRows: Map<string, CoveredKind>;
};

/** A row that events cover: its kind, and its key in its table. */
export type CoveredRowKey = { readonly kind: CoveredKind; readonly key: readonly number[] };

export type CoveredKind =
  | "run"
  | "shape"
  | "attempt"
  | "step"
  | "decision"
  | "turns"
  | "fingerprint"
  | "lineage"
  | "modelCall"
  | "turn"
  | "call"
  | "late"
  | "doubt"
  | "question";

/** What was read of a step so far; null fields were not read yet. */
export type StepHead = {
  readonly path: StepPath;
  state: GranularStateRow | null;
  calls: TurnCallRows | null;
};

/** The compare-and-set row of a granular step. */
export type GranularStateRow = {
  readonly stepNo: number;
  turnIndex: number;
  isComplete: boolean;
  /** The attempt that was reserved last; settled unless `reserved` is set and its turn is not journaled. */
  lastCall: LastModelCall | null;
};

export type LastModelCall = {
  readonly turnIndex: number;
  readonly attempt: number;
  readonly openedAt: number;
  readonly reserved: Amount | null;
};

/** The calls of a journaled turn: their number, how many have a receipt, and their rows in the ledger. */
export type TurnCallRows = {
  readonly turnIndex: number;
  readonly firstCallNo: number;
  readonly calls: number;
  receipts: number;
  /** True for each call that was dispatched, in call order: only those can succeed or fail. */
  readonly dispatched: boolean[];
};
