import { coverChange, coverRemoval, coverReplacement, coverRow } from "./covered-rows.ts";
import type { Leases } from "./leases.ts";
import type { RunHead } from "./run-head.ts";
import type { SqlScript } from "./script.ts";
import type { ColumnsOf, CoveredTable, KeyOf, RowOf, RunKey } from "./table-list.ts";
import type { RowValues, Write } from "./write.ts";

/** What an intent works with, inside one transaction. It may run twice, and touches nothing but the database. */
export interface Transaction {
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly leases: Leases;
  /** The heads of runs, cached from one intent to the next. */
  readonly heads: Map<string, RunHead>;
  /**
   * True if no session of this owner is there, until the end of the transaction. For an owner that is `gone`: it was
   * last looked for before the transaction began.
   */
  mayTakeFrom(owner: string): SqlScript<boolean>;
  /**
   * Keeps others from changing these runs until the end of the transaction, for an intent that moves no head. True if
   * they may have changed before that, and have to be read again.
   */
  lockRuns(keys: readonly RunKey[]): SqlScript<boolean>;
  /** Keeps others from going beyond the same call with the same name, until the end of the transaction. */
  lockName(name: string): SqlScript<void>;
  /** The key of a run that is about to be created. */
  newRunKey(runId: string): SqlScript<RunKey>;
  /**
   * SQLite writes at once; PostgreSQL collects the writes and sends them together, at the latest before the next query
   * of the intent: a query sees what was written before it.
   */
  write(write: Write): void;
}

// The writes of rows that belong to a run. The event of the intent covers them.

export function insertRow<T extends CoveredTable>(
  tx: Transaction,
  run: RunHead,
  table: T,
  row: RowOf<T>,
): void {
  addRow(tx, run, "insert", table, row);
}

/** Inserts a row whose key says what is in it, unless it exists. */
export function keepRow<T extends CoveredTable>(
  tx: Transaction,
  run: RunHead,
  table: T,
  row: RowOf<T>,
): void {
  addRow(tx, run, "keep", table, row);
}

function addRow<T extends CoveredTable>(
  tx: Transaction,
  run: RunHead,
  kind: "insert" | "keep",
  table: T,
  row: RowOf<T>,
): void {
  const values = { run_key: run.key, ...row };
  coverRow(run, table, values);
  tx.write({ kind, table, row: values });
}

/** Inserts the row, or replaces the one of the same key. */
export function putRow<T extends CoveredTable>(tx: Transaction, run: RunHead, table: T, row: RowOf<T>): void {
  const values = { run_key: run.key, ...row };
  coverReplacement(run, table, values);
  tx.write({ kind: "upsert", table, row: values });
}

/** Changes whole groups of columns of a row that exists. */
export function changeRow<T extends CoveredTable>(
  tx: Transaction,
  run: RunHead,
  table: T,
  key: KeyOf<T>,
  set: Partial<ColumnsOf<T>> & RowValues,
): void {
  const values = { run_key: run.key, ...key };
  coverChange(run, table, values, set);
  tx.write({ kind: "update", table, key: values, set });
}

export function removeRow<T extends CoveredTable>(
  tx: Transaction,
  run: RunHead,
  table: T,
  key: KeyOf<T>,
): void {
  const values = { run_key: run.key, ...key };
  coverRemoval(run, table, values);
  tx.write({ kind: "remove", table, key: values });
}
