import type { StepPath } from "../../core/step-path.ts";
import type { Quota } from "../../core/usage/quota.ts";
import type { Amount } from "../../core/usage/usage.ts";
import type { RunKey } from "./table-list.ts";

/**
 * The part of a run that intents read and change: its owner, its charges, the state of its steps, and the head of its
 * log.
 *
 * It is cached in memory from one intent to the next. That is safe because every intent writes the run's row, and
 * only if the log still ends with the cached event: any other change to the run has moved it. A refused intent is
 * tried again on fresh data from the database.
 */
export type RunHead = {
  readonly key: RunKey;
  readonly runId: string;
  owner: string | null;
  epoch: number;
  quota: Quota;
  readonly counts: LastNumbers;
  eventSeq: number;
  eventHash: Uint8Array;
  /** The steps of this run that were read so far, by number. */
  readonly steps: Map<number, StepHead>;
  /** True if a wait is open; null if not looked up yet. Only a release of the run opens waits. */
  hasOpenWaits: boolean | null;
  /** True if a call of the run has failed and may have happened; null if not looked up yet. */
  hasUncertainCalls: boolean | null;
  /** The number of values in each slice of the session; null if not looked up yet. */
  sliceLengths: Map<string, number> | null;
  /** The hashes of each slice's pieces in the last checkpoint, as far as it was written from here. */
  readonly slicePieces: Map<string, ReadonlySet<string>>;
  /** The rows that the current intent has written, with their digests, for its event to cover; null if removed. */
  readonly covered: Map<string, string | null>;
};

/** The most heads that are cached between transactions: a process that starts runs for months must not keep them all. */
const MAX_HEADS = 10_000;

/** Drops the heads that were cached first. They are read again when they are needed. */
export function forgetOldHeads(heads: Map<string, RunHead>): void {
  if (heads.size <= MAX_HEADS) return;
  for (const runId of heads.keys()) {
    if (heads.size <= MAX_HEADS / 2) return;
    heads.delete(runId);
  }
}

/** The last numbers given out inside a run, and how many of its events cover rows of the run as a whole. */
type LastNumbers = {
  steps: number;
  calls: number;
  waits: number;
  checkpoints: number;
  run_events: number;
};

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
  messages: number;
  tokens: number;
  /** The attempt that was reserved last; settled unless `reserved` is set and its turn is not journaled. */
  lastCall: LastModelCall | null;
  lineage: number;
  firstTurn: number;
  fingerprint: Uint8Array;
};

type LastModelCall = {
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
  /** The numbers of the calls that have a receipt, in no order. */
  readonly receipts: Set<number>;
  /** True for each call that was dispatched, in call order: only those can succeed or fail. */
  readonly dispatched: boolean[];
};
