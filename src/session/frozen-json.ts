import { assertJson } from "../core/canonical-json.ts";
import { isPlainObject, type Json, MAX_DEPTH } from "../core/json.ts";

/** One more than `assertJson` accepts: deeper values and cycles are not copied, and are then refused by it. */
const COPIED_DEPTH = MAX_DEPTH + 1;

/**
 * A frozen copy of a JSON value. Properties that are `undefined` are left out, as JSON does; any other value that is not
 * JSON is refused with its path.
 */
export function frozenJson(value: unknown, name?: string): Json {
  const copy = frozenCopy(value, 0);
  assertJson(copy, name);
  return copy;
}

function frozenCopy(value: unknown, depth: number): unknown {
  // JSON has no -0.
  if (value === 0) return 0;
  if (typeof value !== "object" || value === null || depth === COPIED_DEPTH) return value;
  // Array.from, not map: a hole becomes an `undefined`, which is refused.
  if (Array.isArray(value)) return Object.freeze(Array.from(value, (item) => frozenCopy(item, depth + 1)));
  if (!isPlainObject(value)) return value;
  const entries = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .map(([key, item]) => [key, frozenCopy(item, depth + 1)] as const);
  // fromEntries, not assignment: "__proto__" is a key like any other.
  return Object.freeze(Object.fromEntries(entries));
}
