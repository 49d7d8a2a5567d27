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
