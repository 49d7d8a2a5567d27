import type { Json } from "../core/json.ts";
import type { SliceChange } from "../store/store.ts";
import { type SessionState, type SliceSet, valuesOf } from "./slice-set.ts";

const NONE: ReadonlySet<string> = new Set();

/**
 * The changes to write so that `before` becomes `after`: only slices that differ, and only their values that do. Compared by
 * identity, so that an unchanged slice costs one comparison, however large it is. Slices in `rewrite` are written whole:
 * their stored values are of an older version.
 */
export function sliceChanges(
  slices: SliceSet,
  before: SessionState,
  after: SessionState,
  rewrite: ReadonlySet<string> = NONE,
): readonly SliceChange[] {
  return [...slices].flatMap(({ name, kind, version }) => {
    const was = valuesOf(before, name);
    const is = valuesOf(after, name);
    const isWhole = rewrite.has(name);
    if (was === is && !isWhole) return [];
    const items = is
      .map((value, index): readonly [number, Json] => [index, value])
      .filter(([index, value]) => isWhole || value !== was[index]);
    return [{ name, kind, version, length: is.length, items }];
  });
}
