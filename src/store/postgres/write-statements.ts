import { insertText } from "../sql/insert-text.ts";
import type { Statement } from "../sql/planned/server-session.ts";
import { groupWrites, type WriteGroup } from "../sql/planned/write-batch.ts";
import type { SqlValue } from "../sql/row.ts";
import { type ColumnType, columnTypes, type TableName } from "../sql/table-list.ts";
import type { Write } from "../sql/write.ts";
import { LATEST_VERSION } from "./migrate.ts";

/** The server's time in SQL, in milliseconds since 1970. */
export const SERVER_NOW = "(extract(epoch FROM now()) * 1000)::bigint";

/** The statements of some writes: one for all rows of a group, with an array a column. `now` replaces the server's time. */
export function statementsOf(writes: readonly Write[], now: number | null): Statement[] {
  return groupWrites(writes).map((group) => {
    const { columns, rows } = group;
    const [only] = rows;
    const values = columns.map((column) =>
      isSingle(group) ? (only?.[column] ?? null) : rows.map((row): SqlValue => row[column] ?? null),
    );
    // The number of rows is a value, so that the text is the same for any number of them.
    const count = mustMatch(group) ? [rows.length] : [];
    return { text: textOf(group), values: [...values, ...count, ...(group.kind === "renew" ? [now] : [])] };
  });
}

const texts = new Map<string, string>();

function textOf(group: WriteGroup): string {
  const shape = `${group.kind} ${group.table} ${group.columns.join()} ${isSingle(group)}`;
  let text = texts.get(shape);
  if (text === undefined) {
    text = makeText(group);
    texts.set(shape, text);
  }
  return text;
}

function makeText(group: WriteGroup): string {
  const { kind, table, columns } = group;
  switch (kind) {
    case "insert":
    case "keep":
    case "upsert": {
      const values = columns.map((column) => `new.${column}`);
      return insertText(kind, table, columns, `SELECT ${values.join(", ")} FROM ${newRows(group)}`);
    }
    case "remove":
      return `DELETE FROM ${table} USING ${newRows(group)} WHERE ${sameKey(group)}`;
    case "copy":
      return copyText(group);
    case "update":
      return updateText(group);
    case "renew":
      return renewText(group);
    // Fails if the log of a run no longer ends with the event that the writer knows, or the schema is a newer one.
    case "advance":
      return guarded(
        group,
        `UPDATE runs SET ${changes(group)} FROM ${newRows(group)} WHERE ${sameKey(group)}
           AND runs.event_hash = new.from_event_hash AND (SELECT max(number) FROM migrations) = ${LATEST_VERSION}`,
      );
  }
}

/** Fails if a row is not there: not as a stale head does, since trying again does not help. */
function updateText(group: WriteGroup): string {
  const { table } = group;
  return `WITH changed AS (UPDATE ${table} SET ${changes(group)} FROM ${newRows(group)} WHERE ${sameKey(group)} RETURNING 1)
    SELECT CAST(CASE WHEN count(*) = ${count(group)} THEN '1' ELSE 'a row of ${table} is missing' END AS INTEGER) FROM changed`;
}

function copyText(group: WriteGroup): string {
  const { table, columns, key } = group;
  const all = Object.keys(columnTypes(table));
  const values = all.map((column) => (columns.includes(column) ? `new.${column}` : `old.${column}`));
  const same = key.map((column) => `old.${column} = new.from_${column}`);
  const source = `SELECT ${values.join(", ")} FROM ${newRows(group)} JOIN ${table} AS old ON ${same.join(" AND ")}`;
  return insertText("keep", table, all, source);
}

/** Fails if this owner no longer has one of the runs. Those that another session has locked are left, and named. */
function renewText(group: WriteGroup): string {
  const now = `coalesce($${group.columns.length + 1}::bigint, ${SERVER_NOW})`;
  return `WITH new AS (SELECT * FROM ${newRows(group)}),
    free AS (SELECT run_key FROM runs WHERE run_key IN (SELECT run_key FROM new) ORDER BY run_key FOR UPDATE SKIP LOCKED),
    changed AS (UPDATE runs SET lease_until = ${now} + new.lease_ms, lease_ms = new.lease_ms FROM new JOIN free USING (run_key)
      WHERE ${sameKey(group)} AND runs.owner = new.owner AND runs.epoch = new.epoch RETURNING 1)
    SELECT 1 / CASE WHEN (SELECT count(*) FROM changed) = (SELECT count(*) FROM free) THEN 1 ELSE 0 END AS held,
      (SELECT string_agg(run_key::text, ' ') FROM new WHERE run_key NOT IN (SELECT run_key FROM free)) AS locked`;
}

/** True if the statement fails where a row is not as the writer knows it. */
function mustMatch({ kind }: WriteGroup): boolean {
  return kind === "update" || kind === "advance";
}

/** A division by zero: in a pipeline, a statement that changes too few rows would not stop those after it. */
function guarded(group: WriteGroup, update: string): string {
  return `WITH changed AS (${update} RETURNING 1) SELECT 1 / CASE WHEN count(*) = ${count(group)} THEN 1 ELSE 0 END FROM changed`;
}

function count({ columns }: WriteGroup): string {
  return `$${columns.length + 1}::bigint`;
}

function changes({ columns, key }: WriteGroup): string {
  return columns
    .filter((column) => !key.includes(column) && !column.startsWith("from_"))
    .map((column) => `${column} = new.${column}`)
    .join(", ");
}

function sameKey({ table, key }: WriteGroup): string {
  return key.map((column) => `${table}.${column} = new.${column}`).join(" AND ");
}

/** A row by itself is no array: the server would make a table of each array, which costs more than the row. */
function isSingle({ rows }: WriteGroup): boolean {
  return rows.length === 1;
}

function newRows(group: WriteGroup): string {
  const { table, columns } = group;
  if (isSingle(group))
    return `(SELECT ${columns.map((column, i) => `$${i + 1}::${typeOf(table, column)} AS ${column}`).join(", ")}) AS new`;
  const arrays = columns.map((column, i) => `$${i + 1}::${typeOf(table, column)}[]`);
  return `unnest(${arrays.join(", ")}) AS new (${columns.join(", ")})`;
}

const PG_TYPES = { run: "uuid", int: "bigint", text: "text", bytes: "bytea" } as const;

function typeOf(table: TableName, column: string): string {
  const types: { readonly [column: string]: ColumnType } = columnTypes(table);
  const type = types[column.replace(/^from_/, "")];
  if (type === undefined) throw new Error(`There is no column ${column} in ${table}.`);
  return PG_TYPES[type.replace("?", "") as keyof typeof PG_TYPES];
}
