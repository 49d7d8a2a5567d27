import { normaliseKeyName } from "./key-name.ts";

/** A longer name is no typo, and comparing takes time. */
const LONGEST_COMPARED = 64;

/**
 * The name that the author most likely meant, or null if none is close: at most every third letter wrong, or a part of the
 * name left out.
 *
 * @example
 * nearestName("max_stepz", ["maxSteps", "maxTokens"]); // "maxSteps"
 */
export function nearestName(written: string, names: readonly string[]): string | null {
  const wanted = normaliseKeyName(written);
  if (wanted.length < 3 || wanted.length > LONGEST_COMPARED) return null;
  const compared = names.map((name) => ({ name, distance: distanceOf(wanted, normaliseKeyName(name)) }));
  const nearest = compared
    .filter(({ name, distance }) => distance <= Math.floor(Math.max(wanted.length, name.length) / 3))
    .sort((a, b) => a.distance - b.distance)[0];
  if (nearest !== undefined) return nearest.name;
  return names.find((name) => wanted.length >= 4 && normaliseKeyName(name).includes(wanted)) ?? null;
}

/** The edit distance: how many letters must be added, removed, replaced or swapped with their neighbour. */
function distanceOf(a: string, b: string): number {
  let beforeLast: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const isSame = a[row - 1] === b[column - 1];
      const isSwapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      current[column] = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (isSame ? 0 : 1),
        isSwapped ? at(beforeLast, column - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    beforeLast = last;
    last = current;
  }
  return at(last, b.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
