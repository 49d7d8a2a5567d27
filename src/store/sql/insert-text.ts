import { keyColumns, type TableName } from "./table-list.ts";

/**
 * The text of an insert. `source` is what each database calls the new rows.
 * `keep`: a row of the same key stays as it is. `upsert`: it is replaced.
 */
export function insertText(
  kind: "insert" | "keep" | "upsert",
  table: TableName,
  columns: readonly string[],
  source: string,
): string {
  const insert = `INSERT INTO ${table} (${columns.join(", ")}) ${source}`;
  if (kind === "insert") return insert;
  if (kind === "keep") return `${insert} ON CONFLICT DO NOTHING`;
  const key = keyColumns(table);
  const changes = columns
    .filter((column) => !key.includes(column))
    .map((column) => `${column} = excluded.${column}`);
  return `${insert} ON CONFLICT (${key.join(", ")}) DO UPDATE SET ${changes.join(", ")}`;
}
