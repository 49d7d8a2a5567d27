import type { StepPath } from "../../core/step-path.ts";
import type { Quota } from "../../core/usage/quota.ts";
import type { Amount } from "../../core/usage/usage.ts";

/**
 * What intents read of a run and change: who may write, what is charged, where its steps stand, and the head of its log.
 *
 * It is kept in memory from one intent to the next. That is safe because every intent writes the run's row, and writes it
 * only if the log's head is still the one it knows: whoever else changed anything of the run has moved that. An intent
 * that is refused for whatever reason is tried again on what the database says.
 */
export type RunHead = {
  readonly runNo: number;
  readonly runId: string;
  owner: string | null;
  epoch: number;
  quota: Quota;
  eventSeq: number;
  eventHash: Uint8Array;
  /** The steps of this run that were asked for, by their number. */
  readonly steps: Map<number, StepHead>;
  /** Whether a person is asked something; null where nobody looked. Only a release of the run opens questions. */
  hasOpenWaits: boolean | null;
  /** Whether a call of the run has failed and may have happened; null where nobody looked. */
  hasUncertainCalls: boolean | null;
  /** What the intent at hand has written and removed, for its event to tell of. */
  readonly touched: Map<string, CoveredRowKey>;
  readonly removed: Map<string, CoveredKind>;
};

/** What a row that events tell of is, and the key that its table has it by. */
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

/** What was read of a step so far; null where nothing was. */
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
  /** The try that was reserved for last; settled unless `reserved` is there and its turn is not journaled. */
  lastCall: LastModelCall | null;
};

export type LastModelCall = {
  readonly turnIndex: number;
  readonly attempt: number;
  readonly openedAt: number;
  readonly reserved: Amount | null;
};

/** The calls of a journaled turn: how many there are, how many have a receipt, and which rows of the ledger they are. */
export type TurnCallRows = {
  readonly turnIndex: number;
  readonly firstCallNo: number;
  readonly calls: number;
  receipts: number;
  /** Which of them were dispatched, by their order: those and no others can succeed or fail. */
  readonly dispatched: boolean[];
};
