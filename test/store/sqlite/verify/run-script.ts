import type { DatabaseSync, StatementSync } from "node:sqlite";
import { Row } from "../../../../src/store/sql/row.ts";
import type { SqlScript } from "../../../../src/store/sql/script.ts";

const prepared = new WeakMap<DatabaseSync, Map<string, StatementSync>>();

/** Runs a script of the store on any connection, and shows each query with its rows. */
export function runScript<T>(
  database: DatabaseSync,
  script: SqlScript<T>,
  look: (text: string, rows: readonly Row[]) => void = () => undefined,
): T {
  const statements = prepared.get(database) ?? new Map<string, StatementSync>();
  prepared.set(database, statements);
  let step = script.next();
  while (step.done !== true) {
    const { text, values } = step.value;
    const statement = statements.get(text) ?? database.prepare(text);
    statements.set(text, statement);
    const rows = statement.all(...values).map((row) => new Row(row));
    look(text, rows);
    step = script.next(rows);
  }
  return step.value;
}
