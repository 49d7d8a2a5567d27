import type { Row, SqlValue } from "./row.ts";

export type { SqlValue } from "./row.ts";

/** A query in the SQL that both databases understand, with `?` for its values. */
type Query = { readonly text: string; readonly values: readonly SqlValue[] };

/**
 * Code that asks the database and waits for the answers. SQLite answers each query at once, inside its transaction;
 * PostgreSQL answers over the wire. A script that asks nothing never waits.
 */
export type SqlScript<T> = Generator<Query, T, readonly Row[]>;

export function* all(text: string, ...values: readonly SqlValue[]): SqlScript<readonly Row[]> {
  return yield { text, values };
}

/** The first row, or null. */
export function* get(text: string, ...values: readonly SqlValue[]): SqlScript<Row | null> {
  const rows = yield { text, values };
  return rows[0] ?? null;
}

/** A script that has its answer already. */
// oxlint-disable-next-line require-yield -- it asks nothing
export function* known<T>(value: T): SqlScript<T> {
  return value;
}

/** True if the query finds a row. */
export function* exists(text: string, ...values: readonly SqlValue[]): SqlScript<boolean> {
  const rows = yield { text, values };
  return rows.length > 0;
}
