import type { SqlValue } from "./script.ts";
import type { TableName } from "./table-list.ts";

/** The values of some columns of a row. */
export type RowValues = { readonly [column: string]: SqlValue };

/** A change to one row, or a hint about it. Each database makes its own statement of it. */
export type Write =
  | { readonly kind: "insert"; readonly table: TableName; readonly row: RowValues }
  /** Inserts the row, or replaces the row of the same key. */
  | { readonly kind: "upsert"; readonly table: TableName; readonly row: RowValues }
  /** Inserts the row, unless one of the same key exists. */
  | { readonly kind: "keep"; readonly table: TableName; readonly row: RowValues }
  /** Changes the row of this key, which must exist. */
  | {
      readonly kind: "update";
      readonly table: TableName;
      readonly key: RowValues;
      readonly set: RowValues;
    }
  /** Removes the row of this key, or all rows of a part of a key, if they exist. */
  | { readonly kind: "remove"; readonly table: TableName; readonly key: RowValues }
  /** Copies the row of this key, with other values in the columns of `set`, unless the copy exists. */
  | {
      readonly kind: "copy";
      readonly table: TableName;
      readonly key: RowValues;
      readonly set: RowValues;
    }
  /**
   * Changes the row of a run, if its log still ends with the event of this hash. Otherwise another process has changed
   * the run, and the whole intent is refused with `StaleHeadError`.
   */
  | {
      readonly kind: "advance";
      readonly runId: string;
      readonly key: SqlValue;
      readonly previousHash: Uint8Array;
      readonly set: RowValues;
    }
  /** Extends the lease of a run from now on, if this owner still holds it; refused like `advance`. No event. */
  | {
      readonly kind: "renew";
      readonly runId: string;
      readonly key: SqlValue;
      readonly owner: string;
      readonly epoch: number;
      readonly leaseMs: number;
    }
  /**
   * Asks that a worker looks at the run at this time; null for now. A hint: it is no part of what the intent stores, and a
   * database may leave it out.
   */
  | { readonly kind: "wake"; readonly runId: string; readonly at: number | null };

/** The run was changed by another process since its head was cached; the intent is tried again on fresh data. */
export class StaleHeadError extends Error {
  readonly runId: string;

  constructor(runId: string) {
    super(`Run ${runId} was changed by another process.`);
    this.name = "StaleHeadError";
    this.runId = runId;
  }
}
