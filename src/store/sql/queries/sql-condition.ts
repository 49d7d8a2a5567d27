import type { SqlValue } from "../script.ts";

/** A part of a WHERE clause with its values. */
export type SqlCondition = { readonly text: string; readonly values: readonly SqlValue[] };

/**
 * True for the rows that have one of these values. The list is filled up to the next power of two, with the last value
 * again: a prepared statement is kept for each text, so there must be few of them.
 */
export function oneOf(column: string, values: readonly SqlValue[]): SqlCondition {
  const last = values.at(-1);
  if (last === undefined) return { text: "1 = 0", values: [] };
  const size = 2 ** Math.ceil(Math.log2(values.length));
  const filled = [...values, ...Array.from({ length: size - values.length }, () => last)];
  return { text: `${column} IN (${filled.map(() => "?").join(", ")})`, values: filled };
}

/** The condition that every row meets. */
export const EVERYTHING = "1 = 1";

/** All of these, as the conditions of a WHERE clause. */
export function allOf(conditions: readonly SqlCondition[]): SqlCondition {
  return {
    text: conditions.length === 0 ? EVERYTHING : conditions.map(({ text }) => text).join(" AND "),
    values: conditions.flatMap(({ values }) => values),
  };
}
