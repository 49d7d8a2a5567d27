import { digestOf, hexOf } from "./digest.ts";
import type { RunHead } from "./run-head.ts";
import type { SqlValue } from "./script.ts";
import { type CoveredTable, TABLES, type TableShape } from "./table-list.ts";
import type { RowValues } from "./write.ts";

// Events cover the rows that their intents write: an event carries the name of each group of columns that was written,
// with its digest. The events are chained by their hashes, so a row that was changed since no longer matches its event.
//
// Names are stored in events and never change: a table, the key after the run, and the group (`waits 3:answer`).

/** The name under which events cover the row of a run itself. */
export const RUN_ROW = "runs";

/**
 * Tables that belong to one turn or call, or to the session. There may be many such rows, so an event that covers any
 * other row, one of the run as a whole, is marked.
 */
const OF_TURNS: ReadonlySet<string> = new Set<CoveredTable>([
  "granular_states",
  "turns",
  "failed_model_calls",
  "tool_calls",
  "receipts",
  "tool_call_attempts",
  "slices",
  "slice_items",
  "applied_calls",
  "checkpoints",
  "slice_contents",
]);

/** True if the table has rows of the run as a whole. */
export function isOfRun(table: CoveredTable): boolean {
  return !OF_TURNS.has(table);
}

/** The tables, each with the columns of its key after the run, and its groups. */
const SHAPES = new Map(
  Object.entries(TABLES).map(([table, { key, groups }]: [string, TableShape]) => [
    table,
    {
      key: Object.keys(key).filter((column) => column !== "run_key"),
      groups: Object.entries(groups).map(([group, columns]) => ({
        suffix: group === "row" ? "" : `:${group}`,
        isWholeRow: group === "row",
        columns: Object.keys(columns),
      })),
    },
  ]),
);

function shapeOf(table: CoveredTable) {
  const shape = SHAPES.get(table);
  if (shape === undefined) throw new Error(`Events do not cover ${table}.`);
  return shape;
}

/** The name of a row, without a group. */
function rowName(table: CoveredTable, row: RowValues): string {
  let name: string = table;
  let separator = " ";
  for (const column of shapeOf(table).key) {
    name += separator + keyText(row[column] ?? null);
    separator = ".";
  }
  return name;
}

function keyText(value: SqlValue): string {
  if (typeof value === "number") return String(value);
  // Both databases store half of a surrogate pair as U+FFFD, and the name has to be that of the stored row.
  if (typeof value === "string") return JSON.stringify(value.toWellFormed());
  return value === null ? "" : hexOf(value);
}

/** The names and digests of the groups of a whole row. A group without values has none. */
export function coveredGroups(table: CoveredTable, row: RowValues): Map<string, string> {
  const groups = new Map<string, string>();
  coverGroups(groups, table, row);
  return groups;
}

/** An intent has written this row: its event will cover it. */
export function coverRow(run: RunHead, table: CoveredTable, row: RowValues): void {
  coverGroups(run.covered, table, row);
}

function coverGroups(covered: Map<string, string | null>, table: CoveredTable, row: RowValues): void {
  const name = rowName(table, row);
  for (const { suffix, isWholeRow, columns } of shapeOf(table).groups) {
    const values = columns.map((column) => row[column] ?? null);
    if (isWholeRow || values.some((value) => value !== null)) covered.set(name + suffix, digestOf(values));
  }
}

/** An intent has written this row, in place of one that may have had values where this one has none. */
export function coverReplacement(run: RunHead, table: CoveredTable, row: RowValues): void {
  coverRemoval(run, table, row);
  coverRow(run, table, row);
}

/** An intent has changed these columns, which must be whole groups. */
export function coverChange(run: RunHead, table: CoveredTable, key: RowValues, set: RowValues): void {
  const name = rowName(table, key);
  let columnsLeft = Object.keys(set).length;
  for (const { suffix, columns } of shapeOf(table).groups) {
    const values = columns.map((column) => set[column]);
    if (values.every((value) => value === undefined)) continue;
    if (values.some((value) => value === undefined))
      throw new Error(`A change of ${name} has to write the whole group ${suffix}.`);
    columnsLeft -= columns.length;
    const isEmpty = values.every((value) => value === null);
    run.covered.set(`${name}${suffix}`, isEmpty ? null : digestOf(values.map((value) => value ?? null)));
  }
  if (columnsLeft > 0) throw new Error(`A change of ${name} names columns that it does not have.`);
}

/** An intent has removed this row. */
export function coverRemoval(run: RunHead, table: CoveredTable, key: RowValues): void {
  const name = rowName(table, key);
  for (const { suffix } of shapeOf(table).groups) run.covered.set(`${name}${suffix}`, null);
}

/** True if one of these rows belongs to the run as a whole. */
export function coversRun(names: Iterable<string>): boolean {
  for (const name of names) {
    const space = name.search(/[ :]/);
    if (!OF_TURNS.has(space === -1 ? name : name.slice(0, space))) return true;
  }
  return false;
}
