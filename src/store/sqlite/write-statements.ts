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
      const { text, columns } = insertOf(write.kind, write.table);
      // A column without a value is refused when it is bound.
      database.run(text, ...columns.map((column) => write.row[column] as SqlValue));
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
      return;
    }
    // Workers on this machine notice every commit.
    case "wake":
  }
}

const RENEWAL = "UPDATE runs SET lease_until = ?, lease_ms = ? WHERE run_key = ? AND owner = ? AND epoch = ?";

type Insert = { readonly text: string; readonly columns: readonly string[] };
type InsertKind = "insert" | "keep" | "upsert";

const inserts = {
  insert: new Map<TableName, Insert>(),
  keep: new Map<TableName, Insert>(),
  upsert: new Map<TableName, Insert>(),
} as const satisfies { [K in InsertKind]: Map<TableName, Insert> };

/** The insert of a table, made once: a new row is always whole, so it needs no look at its columns. */
function insertOf(kind: InsertKind, table: TableName): Insert {
  let insert = inserts[kind].get(table);
  if (insert === undefined) {
    const columns = Object.keys(columnTypes(table));
    const text = insertText(kind, table, columns, `VALUES (${columns.map(() => "?").join(", ")})`);
    insert = { text, columns };
    inserts[kind].set(table, insert);
  }
  return insert;
}

const texts = new Map<string, string>();

/** The text of another statement, made once for each table and list of columns. */
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
