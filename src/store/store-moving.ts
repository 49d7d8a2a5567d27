import type { RunMove } from "./run-move.ts";
import type { Fence } from "./store-intents.ts";
import type { RunRecord } from "./store-records.ts";

// What moves a run from one store to another: the parameters of those intents, and their results.

/**
 * A stored row of a run: its table, and its values in the order of the columns that the header of a bundle names. Bytes
 * are in base64. The number of the run inside its database is not among them: it differs from store to store.
 */
export type BundleRow = {
  readonly table: string;
  readonly values: readonly (string | number | null)[];
};

/** Where the next part of a moved run begins. */
export type BundlePosition = {
  readonly table: string;
  /** The key of the last row that was read; null before the first. */
  readonly after: readonly (string | number | Uint8Array | null)[] | null;
};

/** Some rows of a moved run; `next` is null after the last. */
export type BundlePart = { readonly rows: readonly BundleRow[]; readonly next: BundlePosition | null };

/** A run that is about to arrive from another store. */
export type ArrivingRun = {
  /** The row of the run itself. */
  readonly run: BundleRow;
  /** The hashes in hex of the events by which it was moved, by their numbers; the last one moves it here. */
  readonly moves: ReadonlyMap<number, string>;
  /** Identifies this import, so that a repeated request is recognised. */
  readonly token: string;
};

/** The outcome of beginning an import: the right to write its rows, or the run, if it has arrived before. */
export type ArrivalOutcome =
  | { readonly kind: "begun"; readonly fence: Fence }
  | { readonly kind: "arrived"; readonly run: RunRecord };

/** The intents of a store around runs that move to another one. */
export interface MovingStore {
  /** The id of this database, which bundles name as their target: random, and made when it is first asked for. */
  storeId(): Promise<string>;

  /**
   * Marks the run as moved to the store of this id, for good: from then on it is only read here, and everything else is
   * refused with `RunMovedError`. What a dead worker left open is settled as by a claim. The same target again changes
   * nothing; another one is refused, and so is a run that a living process holds, or that is not what was written.
   */
  moveRun(runId: string, to: string): Promise<RunMove>;

  /**
   * Begins to receive a run that another store has marked as moved to this one. Until `finishArrival`, the run has the
   * status `moved` here too, and nobody claims it. `RunBusyError` while a living process receives it. A bundle for
   * another store is refused, and so is one of another run of the same id.
   */
  beginArrival(arriving: ArrivingRun): Promise<ArrivalOutcome>;

  /** Removes some rows that an earlier import, or the run before it was moved away, left; false if there were none. */
  dropArrivingRows(fence: Fence): Promise<boolean>;

  /** Stores some rows of a run that arrives, and renews its lease. A row that is there already stays. */
  storeArrivingRows(fence: Fence, rows: readonly BundleRow[]): Promise<void>;

  /**
   * The run is whole and lives here from now on, with the status that it had: its rows are verified in the same
   * transaction, and there must be this many blobs.
   */
  finishArrival(fence: Fence, blobs: number): Promise<RunRecord>;
}
