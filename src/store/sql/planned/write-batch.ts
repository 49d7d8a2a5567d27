import type { SqlValue } from "../row.ts";
import { keyColumns, type TableName } from "../table-list.ts";
import type { RowValues, Write } from "../write.ts";

/** A write that changes a row. */
type RowWrite = Exclude<Write, { readonly kind: "wake" }>;

/** Writes of one kind to the same columns of one table, for one statement. */
export type WriteGroup = {
  readonly kind: RowWrite["kind"];
  readonly table: TableName;
  /** The columns of `rows`. `from_…` is what a row has before: the key of one that is copied, the last event of a run. */
  readonly columns: readonly string[];
  /** Those that identify the row. */
  readonly key: readonly string[];
  /** In the order of their keys, so that two processes lock rows in the same order. */
  readonly rows: readonly RowValues[];
};

/**
 * Groups writes, in an order that keeps that of the writes to each table. Writes of many runs share groups: a transaction
 * costs about as much for a hundred runs as for one.
 */
export function groupWrites(writes: readonly Write[]): WriteGroup[] {
  const groups: (WriteGroup & { readonly shape: string; readonly byKey: Map<string, RowValues> })[] = [];
  for (const write of writes) {
    // Hints are sent by themselves, last of all.
    if (write.kind === "wake") continue;
    const { table, row, key, id } = partsOf(write);
    const columns = Object.keys(row);
    const shape = `${write.kind} ${columns.join()}`;
    const last = groups.findLast((group) => group.table === table);
    // A statement may change a row only once.
    if (last !== undefined && last.shape === shape && !last.byKey.has(id)) last.byKey.set(id, row);
    else groups.push({ kind: write.kind, table, columns, key, rows: [], shape, byKey: new Map([[id, row]]) });
  }
  return groups.map(({ byKey, ...group }) => ({ ...group, rows: inOrder(byKey) }));
}

function inOrder(byKey: ReadonlyMap<string, RowValues>): readonly RowValues[] {
  if (byKey.size === 1) return [...byKey.values()];
  return [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}

type WriteParts = Pick<WriteGroup, "table" | "key"> & { readonly row: RowValues; readonly id: string };

function partsOf(write: RowWrite): WriteParts {
  switch (write.kind) {
    case "insert":
    case "upsert":
    case "keep": {
      const key = keyColumns(write.table);
      return { table: write.table, key, row: write.row, id: idOf(key, write.row) };
    }
    case "update": {
      const key = Object.keys(write.key);
      return { table: write.table, key, row: { ...write.key, ...write.set }, id: idOf(key, write.key) };
    }
    case "remove": {
      const key = Object.keys(write.key);
      return { table: write.table, key, row: write.key, id: idOf(key, write.key) };
    }
    case "copy": {
      // The same column may be in both: the row to copy, and what the copy has instead.
      const from = Object.fromEntries(
        Object.entries(write.key).map(([column, value]) => [`from_${column}`, value]),
      );
      const id = idOf(keyColumns(write.table), { ...write.key, ...write.set });
      return { table: write.table, key: Object.keys(write.key), row: { ...from, ...write.set }, id };
    }
    case "advance": {
      const row = { run_key: write.key, from_event_hash: write.previousHash, ...write.set };
      return { table: "runs", key: ["run_key"], row, id: textOf(write.key) };
    }
    case "renew": {
      const { key, owner, epoch, leaseMs } = write;
      const row = { run_key: key, owner, epoch, lease_ms: leaseMs };
      return { table: "runs", key: ["run_key"], row, id: textOf(key) };
    }
  }
}

function idOf(key: readonly string[], row: RowValues): string {
  return key.map((column) => textOf(row[column] ?? null)).join("\n");
}

function textOf(value: SqlValue): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString("hex") : String(value);
}
