import type { Row } from "./row.ts";
import type { SqlValue } from "./script.ts";
import { ALL_TABLES, type ColumnType, type RowOf, type TableName, type TableShape } from "./table-list.ts";

const READERS = {
  int: (row: Row, column: string) => row.int(column),
  "int?": (row: Row, column: string) => row.optionalInt(column),
  text: (row: Row, column: string) => row.text(column),
  "text?": (row: Row, column: string) => row.optionalText(column),
  bytes: (row: Row, column: string) => row.bytes(column),
  "bytes?": (row: Row, column: string) => row.optionalBytes(column),
} as const satisfies { [C in Exclude<ColumnType, "run">]: (row: Row, column: string) => SqlValue };

/** A row of `SELECT *` as it can be written again, without its run. Each column is read by its type. */
export function wholeRow<T extends TableName>(table: T, row: Row): RowOf<T> {
  const { key, groups }: TableShape = ALL_TABLES[table];
  const values: { [column: string]: SqlValue } = {};
  for (const columns of [key, ...Object.values(groups)])
    for (const [column, type] of Object.entries(columns))
      if (type !== "run") values[column] = READERS[type](row, column);
  // The columns of the table, each with a value of its type: that is what `RowOf` is made of.
  return values as RowOf<T>;
}
