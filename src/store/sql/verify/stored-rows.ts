import { coveredGroups } from "../covered-rows.ts";
import { PagedQuery } from "../paged-query.ts";
import type { Row } from "../row.ts";
import { type CoveredTable, TABLES, type TableShape } from "../table-list.ts";

export function isCoveredTable(name: string): name is CoveredTable {
  return Object.hasOwn(TABLES, name);
}

export const COVERED_TABLES: readonly CoveredTable[] = Object.keys(TABLES).filter(isCoveredTable);

/** The columns of the key after the run. */
export function keyColumns(table: CoveredTable): readonly string[] {
  const { key }: TableShape = TABLES[table];
  return Object.keys(key).filter((column) => column !== "run_key");
}

/** All columns but the run. */
export function columnsOf(table: CoveredTable): readonly string[] {
  const { groups }: TableShape = TABLES[table];
  return [...keyColumns(table), ...Object.values(groups).flatMap((columns) => Object.keys(columns))];
}

/** A page of these may be large: each row holds a whole slice. */
const CONTENTS_IN_A_PAGE = 20;
const ROWS_IN_A_PAGE = 200;

const QUERIES = new Map(
  COVERED_TABLES.map((table) => [
    table,
    new PagedQuery(
      `SELECT ${columnsOf(table).join(", ")} FROM ${table} WHERE run_key = ?`,
      keyColumns(table),
      table === "slice_contents" ? CONTENTS_IN_A_PAGE : ROWS_IN_A_PAGE,
    ),
  ]),
);

/** All rows of a run in a table, in pages; takes the run's key. */
export function rowsOfRun(table: CoveredTable): PagedQuery {
  const query = QUERIES.get(table);
  if (query === undefined) throw new Error(`Events do not cover ${table}.`);
  return query;
}

/** The names and digests of a stored row's groups. */
export function storedGroups(table: CoveredTable, row: Row): ReadonlyMap<string, string> {
  return coveredGroups(
    table,
    Object.fromEntries(columnsOf(table).map((column) => [column, row.value(column)])),
  );
}
