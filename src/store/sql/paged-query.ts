import type { Row } from "./row.ts";
import { all, type SqlScript, type SqlValue } from "./script.ts";

/**
 * A query whose rows are read in pages, each after the last row of the page before: a large table is never held as a
 * whole. The query ends with its conditions, and selects the columns that it is ordered by.
 */
export class PagedQuery {
  readonly #first: string;
  readonly #next: string;
  readonly #columns: readonly string[];
  readonly #size: number;

  /** `order` identifies a row, with the values that the query is given. */
  constructor(query: string, order: readonly string[], size: number) {
    const by = order.length === 0 ? "" : `ORDER BY ${order.join(", ")} LIMIT ${size}`;
    this.#first = `${query} ${by}`;
    this.#next = `${query} AND (${order.join(", ")}) > (${order.map(() => "?").join(", ")}) ${by}`;
    this.#columns = order.map((column) => column.replace(/^.*\./, ""));
    this.#size = size;
  }

  first(...values: readonly SqlValue[]): SqlScript<readonly Row[]> {
    return all(this.#first, ...values);
  }

  /** The page after the row with these values in the columns of the order; the first page for null. */
  from(last: readonly SqlValue[] | null, ...values: readonly SqlValue[]): SqlScript<readonly Row[]> {
    return last === null ? this.first(...values) : all(this.#next, ...values, ...last);
  }

  /** The page after this one; empty if it was the last. */
  *after(page: readonly Row[], ...values: readonly SqlValue[]): SqlScript<readonly Row[]> {
    const last = page.at(-1);
    if (last === undefined || page.length < this.#size) return [];
    const position = this.#columns.map((column) => last.value(column));
    return yield* this.from(position, ...values);
  }
}
