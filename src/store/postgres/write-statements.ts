import type { SqlValue } from "../sql/script.ts";
import {
  ALL_TABLES,
  type ColumnType,
  HEAD_TABLES,
  type TableName,
  type TableShape,
} from "../sql/table-list.ts";
import type { RowValues, Write } from "../sql/write.ts";
import { toPg } from "./text-values.ts";

/** One statement over all rows of a kind. */
export type Statement = { readonly text: string; readonly values: readonly unknown[] };

/** Writes of one kind to one table: one statement, with an array a column. */
type Group = {
  readonly table: string;
  readonly shape: string;
  readonly columns: readonly string[];
  readonly make: (columns: readonly string[]) => string;
  /** The rows by their keys. */
  readonly rows: Map<string, RowValues>;
};

/**
 * The statements of some writes, in which the order of the writes to each table is kept. Writes of many runs share them:
 * a transaction costs about as much for a hundred runs as for one.
 */
export function statementsOf(writes: readonly Write[], clock: ClockText): Statement[] {
  const groups: Group[] = [];
  for (const write of writes) addWrite(groups, write, clock);
  return groups.map(({ columns, make, rows: byKey }) => {
    const text = make(columns);
    // In the order of their keys, so that two processes lock rows in the same order.
    const rows = [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
    const arrays = columns.map((column) => rows.map((row) => toPg(row[column] ?? null)));
    // The number of rows is a value, so that the text is the same for any number of them.
    return { text, values: text.includes(COUNT(columns)) ? [...arrays, rows.length] : arrays };
  });
}

/** How many rows a statement must change. */
const COUNT = (columns: readonly string[]) => `$${columns.length + 1}::bigint`;

/** The time in SQL, in milliseconds since 1970: the server's, unless a test has a clock of its own. */
export type ClockText = string;

function addWrite(groups: Group[], write: Write, clock: ClockText): void {
  const { table, row, key, make } = partsOf(write, clock);
  const columns = Object.keys(row);
  const shape = `${write.kind} ${columns.join()}`;
  const last = groups.findLast((group) => group.table === table);
  const isOpen = last !== undefined && last.shape === shape && !last.rows.has(key);
  if (isOpen) {
    last.rows.set(key, row);
    return;
  }
  groups.push({ table, shape, columns, make, rows: new Map([[key, row]]) });
}

type WriteParts = {
  readonly table: string;
  readonly row: RowValues;
  /** Identifies the row among those of a group: a statement may change a row only once. */
  readonly key: string;
  readonly make: Group["make"];
};

function partsOf(write: Write, clock: ClockText): WriteParts {
  switch (write.kind) {
    case "insert":
      return {
        table: write.table,
        row: write.row,
        key: keyText(write.table, write.row),
        make: (columns) => insertText(write.table, columns),
      };
    case "upsert":
      return {
        table: write.table,
        row: write.row,
        key: keyText(write.table, write.row),
        make: (columns) => upsertText(write.table, columns),
      };
    case "keep":
      return {
        table: write.table,
        row: write.row,
        key: keyText(write.table, write.row),
        make: (columns) => `${insertText(write.table, columns)} ON CONFLICT DO NOTHING`,
      };
    case "update":
      return {
        table: write.table,
        row: { ...write.key, ...write.set },
        key: keyText(write.table, write.key),
        make: (columns) => updateText(write.table, columns, Object.keys(write.key)),
      };
    case "remove":
      return {
        table: write.table,
        row: write.key,
        key: keyText(write.table, write.key),
        make: (columns) => removeText(write.table, columns),
      };
    case "copy":
      return copyParts(write);
    case "advance":
      return {
        table: "runs",
        row: { run_key: write.key, previous_hash: write.previousHash, ...write.set },
        key: String(write.key),
        make: advanceText,
      };
    case "renew":
      return {
        table: "runs",
        row: { run_key: write.key, owner: write.owner, epoch: write.epoch, lease_ms: write.leaseMs },
        key: String(write.key),
        make: (columns) => renewText(columns, clock),
      };
  }
}

function copyParts({ table, key, set }: Extract<Write, { kind: "copy" }>): WriteParts {
  // The same column may be in both: the row to copy, and what the copy has instead.
  const from = Object.fromEntries(Object.entries(key).map(([column, value]) => [`from_${column}`, value]));
  const all = Object.keys(typesOf(table));
  const make = (columns: readonly string[]) =>
    `INSERT INTO ${table} (${all.join(", ")})
     SELECT ${all.map((column) => (column in set ? `new.${column}` : `old.${column}`)).join(", ")}
       FROM ${unnested(table, columns)} JOIN ${table} AS old
         ON ${Object.keys(key)
           .map((column) => `old.${column} = new.from_${column}`)
           .join(" AND ")}
     ON CONFLICT DO NOTHING`;
  return { table, row: { ...from, ...set }, key: keyText(table, { ...key, ...set }), make };
}

function insertText(table: string, columns: readonly string[]): string {
  return `INSERT INTO ${table} (${columns.join(", ")}) SELECT ${columns.map((column) => `new.${column}`).join(", ")} FROM ${unnested(table, columns)}`;
}

function upsertText(table: string, columns: readonly string[]): string {
  const key = keyColumns(table);
  const changes = columns
    .filter((column) => !key.includes(column))
    .map((column) => `${column} = excluded.${column}`);
  return `${insertText(table, columns)} ON CONFLICT (${key.join(", ")}) DO UPDATE SET ${changes.join(", ")}`;
}

/** Fails if a row is not there. */
function updateText(table: string, columns: readonly string[], key: readonly string[]): string {
  const set = columns.filter((column) => !key.includes(column)).map((column) => `${column} = new.${column}`);
  const same = key.map((column) => `${table}.${column} = new.${column}`);
  return `WITH changed AS (
      UPDATE ${table} SET ${set.join(", ")} FROM ${unnested(table, columns)} WHERE ${same.join(" AND ")} RETURNING 1)
    SELECT CAST(CASE WHEN count(*) = ${COUNT(columns)} THEN '1' ELSE 'a row of ${table} is missing' END AS INTEGER) FROM changed`;
}

function removeText(table: string, columns: readonly string[]): string {
  const same = columns.map((column) => `${table}.${column} = new.${column}`);
  return `DELETE FROM ${table} USING ${unnested(table, columns)} WHERE ${same.join(" AND ")}`;
}

/** Fails if the log of a run no longer ends with the event that the writer knows. */
function advanceText(columns: readonly string[]): string {
  const set = columns
    .filter((column) => column !== "run_key" && column !== "previous_hash")
    .map((column) => `${column} = new.${column}`);
  return guarded(
    `UPDATE runs SET ${set.join(", ")} FROM ${unnested("runs", columns)}
      WHERE runs.run_key = new.run_key AND runs.event_hash = new.previous_hash RETURNING 1`,
    columns,
  );
}

function renewText(columns: readonly string[], clock: ClockText): string {
  return guarded(
    `UPDATE runs SET lease_until = ${clock} + new.lease_ms, lease_ms = new.lease_ms FROM ${unnested("runs", columns)}
      WHERE runs.run_key = new.run_key AND runs.owner = new.owner AND runs.epoch = new.epoch RETURNING 1`,
    columns,
  );
}

function guarded(update: string, columns: readonly string[]): string {
  return `WITH changed AS (${update}) SELECT 1 / CASE WHEN count(*) = ${COUNT(columns)} THEN 1 ELSE 0 END FROM changed`;
}

function unnested(table: string, columns: readonly string[]): string {
  const types = typesOf(table);
  const arrays = columns.map((column, i) => `$${i + 1}::${arrayType(types, column)}`);
  return `unnest(${arrays.join(", ")}) AS new (${columns.join(", ")})`;
}

function arrayType(types: Readonly<Record<string, string>>, column: string): string {
  const type = types[column] ?? types[column.replace(/^from_/, "")];
  if (type === undefined) throw new Error(`There is no column ${column}.`);
  return `${type}[]`;
}

const PG_TYPES = { run: "uuid", int: "bigint", text: "text", bytes: "bytea" } as const;

const knownTypes = new Map<string, Readonly<Record<string, string>>>();

function typesOf(table: string): Readonly<Record<string, string>> {
  let types = knownTypes.get(table);
  if (types === undefined) {
    // The change of a run's head is also given the hash that it had before.
    types = { ...columnTypes(shapeOf(table)), ...(table === "runs" ? { previous_hash: "bytea" } : {}) };
    knownTypes.set(table, types);
  }
  return types;
}

function shapeOf(table: string): TableShape {
  const shape: TableShape | undefined = { ...ALL_TABLES, ...HEAD_TABLES }[table as TableName];
  if (shape === undefined) throw new Error(`There is no table ${table}.`);
  return shape;
}

function columnTypes({ key, groups }: TableShape): Readonly<Record<string, string>> {
  const columns = Object.assign({}, key, ...Object.values(groups)) as Record<string, ColumnType>;
  return Object.fromEntries(
    Object.entries(columns).map(([column, type]) => [
      column,
      PG_TYPES[type.replace("?", "") as keyof typeof PG_TYPES],
    ]),
  );
}

function keyColumns(table: string): string[] {
  return Object.keys(shapeOf(table).key);
}

function keyText(table: string, row: RowValues): string {
  return keyColumns(table)
    .map((column) => textOf(row[column] ?? null))
    .join("\n");
}

function textOf(value: SqlValue): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString("hex") : String(value);
}
