import { BundleRefusedError } from "../../core/errors.ts";
import type { BundleRow } from "../store.ts";
import type { Row, SqlValue } from "./row.ts";
import type { STORE_TABLES } from "./store-tables.ts";
import { ALL_TABLES, type ColumnType, TABLES, type TableName, type TableShape } from "./table-list.ts";
import type { RowValues } from "./write.ts";

// A bundle holds every row that belongs to a run. The tables come from the list of all tables: a new one is moved
// without new code.

/** A table whose rows move with their run. */
export type BundleTable = Exclude<TableName, keyof typeof STORE_TABLES>;

/** In the order of a bundle: the run, its log, then parents before children, and blobs last. */
const ORDERED = new Map<string, TableShape>([
  ["runs", ALL_TABLES.runs],
  ["events", ALL_TABLES.events],
  ...Object.entries(TABLES),
  ...Object.entries(ALL_TABLES),
]);

type BundleColumn = { readonly name: string; readonly type: Exclude<ColumnType, "run"> };

type BundleShape = {
  /** The columns of the key after the run. */
  readonly key: readonly string[];
  /** All columns but the run, the key first. */
  readonly columns: readonly BundleColumn[];
};

const SHAPES = new Map(
  [...ORDERED]
    .filter(([, { key }]) => Object.keys(key)[0] === "run_key")
    .map(([table, { key, groups }]) => [table as BundleTable, shapeOf(key, groups)]),
);

function shapeOf(key: TableShape["key"], groups: TableShape["groups"]): BundleShape {
  const columns = [key, ...Object.values(groups)]
    .flatMap((each) => Object.entries(each))
    .flatMap(([name, type]) => (type === "run" ? [] : [{ name, type }]));
  return { key: Object.keys(key).filter((name) => name !== "run_key"), columns };
}

export const BUNDLE_TABLES: readonly BundleTable[] = [...SHAPES.keys()];

export function bundleShape(table: BundleTable): BundleShape {
  const shape = SHAPES.get(table);
  if (shape === undefined) throw new Error(`No row of ${table} belongs to a run.`);
  return shape;
}

/** The tables with the names of their columns, for the header of a bundle. */
export function bundleColumns(): { readonly [table: string]: readonly string[] } {
  return Object.fromEntries(
    [...SHAPES].map(([table, { columns }]) => [table, columns.map(({ name }) => name)]),
  );
}

/** A stored row as a bundle has it. */
export function bundleRow(table: BundleTable, row: Row): BundleRow {
  return { table, values: bundleShape(table).columns.map(({ name }) => encoded(row.value(name))) };
}

function encoded(value: SqlValue): string | number | null {
  if (!(value instanceof Uint8Array)) return value;
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64");
}

/** The row of a bundle as it is stored, without its run. Each value is checked by the type of its column. */
export function storedValues({ table, values }: BundleRow): {
  readonly table: BundleTable;
  readonly row: RowValues;
} {
  const name = BUNDLE_TABLES.find((each) => each === table);
  if (name === undefined) throw wrongRow(table);
  const { columns } = bundleShape(name);
  if (values.length !== columns.length) throw wrongRow(table);
  const row = Object.fromEntries(
    columns.map((column, i) => [column.name, decoded(table, column, values[i] ?? null)]),
  );
  return { table: name, row };
}

function decoded(table: string, { type }: BundleColumn, value: string | number | null): SqlValue {
  if (value === null && type.endsWith("?")) return null;
  if (type.startsWith("int") && Number.isSafeInteger(value)) return value;
  if (type.startsWith("text") && typeof value === "string") return value;
  if (type.startsWith("bytes") && typeof value === "string") {
    const bytes = Buffer.from(value, "base64");
    // What is no base64 is left out when it is read, and missing then.
    const padding = value.endsWith("==") ? 2 : Number(value.endsWith("="));
    if (value.length % 4 === 0 && bytes.length === (value.length / 4) * 3 - padding) return bytes;
  }
  throw wrongRow(table);
}

function wrongRow(table: string): BundleRefusedError {
  return new BundleRefusedError(
    `The bundle has a row of ${JSON.stringify(table.slice(0, 100))} that no Pawl has written: export the run again.`,
    { reason: "damaged" },
  );
}
