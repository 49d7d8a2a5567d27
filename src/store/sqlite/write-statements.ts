import { insertText } from "../sql/insert-text.ts";
import type { SqlValue } from "../sql/script.ts";
import { columnTypes, type TableName } from "../sql/table-list.ts";
import { StaleHeadError, type Write } from "../sql/write.ts";
import type { Database } from "./database.ts";

/** Writes a row at once, inside the transaction that is open. */
export function writeRow(database: Database, now: number, write: Write): void {
  switch (write.kind) {
    case "insert":
    case "keep":
    case "upsert": {
      const make = (table: TableName, columns: readonly string[]) =>
        insertText(write.kind, table, columns, `VALUES (${columns.map(() => "?").join(", ")})`);
      const text = textOf(write.kind, write.table, Object.keys(write.row), make);
      database.run(text, ...Object.values(write.row));
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
  table: TableName,
  columns: readonly string[],
  make: (table: TableName, columns: readonly string[]) => string,
): string {
  const shape = `${kind} ${table} ${columns.join()}`;
  let text = texts.get(shape);
  if (text === undefined) {
    text = make(table, columns);
    texts.set(shape, text);
  }
  return text;
}

function updateText(table: TableName, columns: readonly string[]): string {
  const { set, key } = split(columns);
  return `UPDATE ${table} SET ${set.map((column) => `${column} = ?`).join(", ")} WHERE ${matching(key)}`;
}

function removeText(table: TableName, columns: readonly string[]): string {
  return `DELETE FROM ${table} WHERE ${matching(columns)}`;
}

function copyText(table: TableName, columns: readonly string[]): string {
  const { set, key } = split(columns);
  const all = Object.keys(columnTypes(table));
  const values = all.map((column) => (set.includes(column) ? "?" : column));
  // Values are given in the order of the columns to set.
  const ordered = all.filter((column) => set.includes(column));
  if (ordered.join() !== set.join()) throw new Error(`The columns of a copy of ${table} are out of order.`);
  // The parser needs the WHERE to tell ON CONFLICT from a join.
  return insertText("keep", table, all, `SELECT ${values.join(", ")} FROM ${table} WHERE ${matching(key)}`);
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
