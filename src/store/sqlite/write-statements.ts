import type { SqlValue } from "../sql/script.ts";
import { ALL_TABLES, type TableName, type TableShape } from "../sql/table-list.ts";
import { StaleHeadError, type Write } from "../sql/write.ts";
import type { Database } from "./database.ts";

/** Writes a row at once, inside the transaction that is open. */
export function writeRow(database: Database, now: number, write: Write): void {
  switch (write.kind) {
    case "insert": {
      const columns = Object.keys(write.row);
      database.run(textOf("insert", write.table, columns, insertText), ...Object.values(write.row));
      return;
    }
    case "upsert": {
      const columns = Object.keys(write.row);
      database.run(textOf("upsert", write.table, columns, upsertText), ...Object.values(write.row));
      return;
    }
    case "keep": {
      const columns = Object.keys(write.row);
      database.run(textOf("keep", write.table, columns, keepText), ...Object.values(write.row));
      return;
    }
    case "update": {
      const columns = [...Object.keys(write.set), "|", ...Object.keys(write.key)];
      const values = [...Object.values(write.set), ...Object.values(write.key)];
      const changed = database.run(textOf("update", write.table, columns, updateText), ...values);
      if (changed !== 1) throw new Error(`A row of ${write.table} that has to change is not there.`);
      return;
    }
    case "remove": {
      const columns = Object.keys(write.key);
      database.run(textOf("remove", write.table, columns, removeText), ...Object.values(write.key));
      return;
    }
    case "copy": {
      const columns = [...Object.keys(write.set), "|", ...Object.keys(write.key)];
      const values = [...Object.values(write.set), ...Object.values(write.key)];
      database.run(textOf("copy", write.table, columns, copyText), ...values);
      return;
    }
    case "advance": {
      const columns = [...Object.keys(write.set), "|", "run_key", "event_hash"];
      const values: SqlValue[] = [...Object.values(write.set), write.key, write.previousHash];
      const changed = database.run(textOf("update", "runs", columns, updateText), ...values);
      if (changed !== 1) throw new StaleHeadError(write.runId);
      return;
    }
    case "renew": {
      const { leaseMs, key, owner, epoch } = write;
      const changed = database.run(RENEWAL, now + leaseMs, leaseMs, key, owner, epoch);
      if (changed !== 1) throw new StaleHeadError(write.runId);
    }
  }
}

const RENEWAL = "UPDATE runs SET lease_until = ?, lease_ms = ? WHERE run_key = ? AND owner = ? AND epoch = ?";

const texts = new Map<string, string>();

/** The text of a statement, made once for each table and list of columns. */
function textOf(
  kind: string,
  table: string,
  columns: readonly string[],
  make: (table: string, columns: readonly string[]) => string,
): string {
  const shape = `${kind} ${table} ${columns.join()}`;
  let text = texts.get(shape);
  if (text === undefined) {
    text = make(table, columns);
    texts.set(shape, text);
  }
  return text;
}

function insertText(table: string, columns: readonly string[]): string {
  return `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;
}

function keepText(table: string, columns: readonly string[]): string {
  return `${insertText(table, columns)} ON CONFLICT DO NOTHING`;
}

function upsertText(table: string, columns: readonly string[]): string {
  const key = keyColumns(table);
  const changes = columns
    .filter((column) => !key.includes(column))
    .map((column) => `${column} = excluded.${column}`);
  return `${insertText(table, columns)} ON CONFLICT (${key.join(", ")}) DO UPDATE SET ${changes.join(", ")}`;
}

function updateText(table: string, columns: readonly string[]): string {
  const { set, key } = split(columns);
  return `UPDATE ${table} SET ${set.map((column) => `${column} = ?`).join(", ")} WHERE ${matching(key)}`;
}

function removeText(table: string, columns: readonly string[]): string {
  return `DELETE FROM ${table} WHERE ${matching(columns)}`;
}

function copyText(table: string, columns: readonly string[]): string {
  const { set, key } = split(columns);
  const all = tableColumns(table);
  const values = all.map((column) => (set.includes(column) ? "?" : column));
  // Values are given in the order of the columns to set.
  const ordered = all.filter((column) => set.includes(column));
  if (ordered.join() !== set.join()) throw new Error(`The columns of a copy of ${table} are out of order.`);
  return `INSERT INTO ${table} (${all.join(", ")}) SELECT ${values.join(", ")} FROM ${table} WHERE ${matching(key)}
    ON CONFLICT DO NOTHING`;
}

function matching(columns: readonly string[]): string {
  return columns.map((column) => `${column} = ?`).join(" AND ");
}

function split(columns: readonly string[]): {
  readonly set: readonly string[];
  readonly key: readonly string[];
} {
  const at = columns.indexOf("|");
  return { set: columns.slice(0, at), key: columns.slice(at + 1) };
}

function keyColumns(table: string): string[] {
  return Object.keys(shapeOf(table).key);
}

function tableColumns(table: string): string[] {
  const { key, groups } = shapeOf(table);
  return [...Object.keys(key), ...Object.values(groups).flatMap((columns) => Object.keys(columns))];
}

function shapeOf(table: string): TableShape {
  const shape: TableShape | undefined = ALL_TABLES[table as TableName];
  if (shape === undefined) throw new Error(`There is no table ${table}.`);
  return shape;
}
