import type { BundlePart, BundlePosition } from "../../store.ts";
import { BUNDLE_TABLES, type BundleTable, bundleRow, bundleShape } from "../bundle-tables.ts";
import { PagedQuery } from "../paged-query.ts";
import type { Row } from "../row.ts";
import type { SqlScript, SqlValue } from "../script.ts";
import type { RunKey } from "../table-list.ts";
import { blobPage } from "../tables/blob-rows.ts";
import { missingRun } from "../tables/missing-run.ts";
import { moveOf, readStoreId, runMoved } from "../tables/moved-run.ts";
import { findRun } from "../tables/run-row.ts";

/** A page of these may be large: each row holds a piece of the session. */
const CONTENTS_IN_A_PAGE = 20;
const ROWS_IN_A_PAGE = 200;

const QUERIES = new Map(
  BUNDLE_TABLES.map((table) => {
    const { key, columns } = bundleShape(table);
    const names = columns.map(({ name }) => name).join(", ");
    const size = table === "slice_contents" ? CONTENTS_IN_A_PAGE : ROWS_IN_A_PAGE;
    return [table, new PagedQuery(`SELECT ${names} FROM ${table} WHERE run_key = ?`, key, size)];
  }),
);

/** A part of a run that was moved away. It no longer changes, so the parts together are one state. */
export function* readMovedRows(runId: string, from: BundlePosition | null): SqlScript<BundlePart> {
  const run = yield* findRun(runId);
  if (run === null) throw yield* missingRun(runId);
  const move = moveOf(run);
  const storeId = yield* readStoreId();
  if (move === null)
    throw new Error(`Run ${runId} was not moved: only then its rows can be read as a bundle.`);
  if (move.to === storeId) throw runMoved(runId, move, storeId);
  const at = BUNDLE_TABLES.findIndex((table) => table === (from?.table ?? BUNDLE_TABLES[0]));
  for (const table of BUNDLE_TABLES.slice(at)) {
    const after = table === from?.table ? from.after : null;
    const rows = yield* pageOf(table, run.key, after);
    if (rows.length > 0) return { rows: rows.map((row) => bundleRow(table, row)), next: endOf(table, rows) };
  }
  return { rows: [], next: null };
}

function* pageOf(table: BundleTable, key: RunKey, after: BundlePosition["after"]): SqlScript<readonly Row[]> {
  // The one row of such a table was read.
  if (after?.length === 0) return [];
  if (table === "blobs") return yield* blobPage(key, blobAfter(after));
  return yield* query(table).from(after, key);
}

function blobAfter(after: BundlePosition["after"]): Uint8Array | null {
  const [hash] = after ?? [];
  return hash instanceof Uint8Array ? hash : null;
}

function query(table: BundleTable): PagedQuery {
  const known = QUERIES.get(table);
  if (known === undefined) throw new Error(`No row of ${table} belongs to a run.`);
  return known;
}

function endOf(table: BundleTable, rows: readonly Row[]): BundlePosition {
  const after: SqlValue[] = bundleShape(table).key.map((column) => rows.at(-1)?.value(column) ?? null);
  return { table, after };
}
