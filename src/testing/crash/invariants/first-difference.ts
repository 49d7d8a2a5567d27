import { isDeepStrictEqual } from "node:util";

/** The first path at which two values differ: `output.text is "a" and was "b"`; null if they are equal. */
export function firstDifference(was: unknown, is: unknown, path = ""): string | null {
  if (isDeepStrictEqual(was, is)) return null;
  const [before, after] = [entriesOf(was), entriesOf(is)];
  if (before === null || after === null || Array.isArray(was) !== Array.isArray(is))
    return `${path === "" ? "it" : path} is ${shown(is)} and was ${shown(was)}`;
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    const child = path === "" ? name : `${path}.${name}`;
    if (!after.has(name)) return `${child} is missing and was ${shown(before.get(name))}`;
    if (!before.has(name)) return `${child} is ${shown(after.get(name))} and was missing`;
    const found = firstDifference(before.get(name), after.get(name), child);
    if (found !== null) return found;
  }
  return `${path === "" ? "it" : path} is not what it was`;
}

function entriesOf(value: unknown): ReadonlyMap<string, unknown> | null {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return null;
  return new Map(Object.entries(value));
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

const MAX_SHOWN = 120;
