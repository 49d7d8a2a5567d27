// Malformed inputs: valid ones, corrupted in one or several places, from a seed.

import { pick } from "../../../src/testing/crash/seeded-random.ts";

export type Random = () => number;

/** Values that break parsers: names that every object has, paths out of a folder, texts with a special meaning. */
const ATOMS: readonly unknown[] = [
  null,
  true,
  -0,
  1e308,
  2 ** 53 + 2,
  -1,
  0.1,
  "",
  " ",
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "../../etc/passwd",
  "/etc/passwd",
  "..\\..\\x",
  "file:///etc/passwd",
  "http://169.254.169.254/",
  "${HOME}",
  "{{steps.a.output}}",
  "{{",
  "<<FL_BLOB_REF:0:size=-1>>",
  "\u0000",
  "\u202e\u200b\ufeff",
  "\ud800",
  "\u001b[2J",
  "a".repeat(3_000),
  "(".repeat(200),
  "*",
  "!!js/function 'x'",
  [],
  {},
  [[[[]]]],
];

const KEYS = [
  "__proto__",
  "constructor",
  "prototype",
  "type",
  "name",
  "id",
  "pattern",
  "$ref",
  "",
  "a.b",
  "valueOf",
  "then",
];

const FRAGMENTS = [
  "../",
  "/..",
  "..",
  "/",
  "&a ",
  "*a",
  "<<: *a\n",
  "!!binary ",
  "!!js/function ",
  "\t",
  "\n---\n",
  "{{ x }}",
  "${PATH}",
  "\u0000",
  "\ud83d",
  "[[[[[[[[",
  "}}}}",
  '"',
  "'",
  "|\n",
  "? ",
  "__proto__: 1\n",
  "1e999",
  "- - - - -",
  "\\u0000",
  "%TAG ! x\n",
];

/** Any value, not nested too deep. */
export function anyValue(random: Random, levels = 3): unknown {
  const kind = random();
  if (levels === 0 || kind < 0.6) return pick(random, ATOMS);
  const length = Math.floor(random() * 4);
  if (kind < 0.8) return Array.from({ length }, () => anyValue(random, levels - 1));
  return object(Array.from({ length }, () => [pick(random, KEYS), anyValue(random, levels - 1)] as const));
}

/** A value that is nested so many levels deep. */
function deep(levels: number): unknown {
  let value: unknown = 0;
  for (let i = 0; i < levels; i++) value = i % 2 === 0 ? [value] : { a: value };
  return value;
}

/** As JSON.parse makes it: `__proto__` is an ordinary key. */
function object(entries: readonly (readonly [string, unknown])[]): unknown {
  const made = {};
  for (const [key, value] of entries)
    Object.defineProperty(made, key, { value, enumerable: true, configurable: true, writable: true });
  return made;
}

/** The same value, corrupted in one to three places. */
export function corrupted(random: Random, value: unknown): unknown {
  let changed = value;
  const times = 1 + Math.floor(random() * 3);
  for (let i = 0; i < times; i++) changed = corruptedOnce(random, changed);
  return changed;
}

function corruptedOnce(random: Random, value: unknown): unknown {
  if (random() < 0.02) return deep(Math.floor(random() * 2_000));
  if (typeof value !== "object" || value === null || random() < 0.15) return anyValue(random);
  if (Array.isArray(value)) {
    const items: unknown[] = [...value];
    const at = Math.floor(random() * (items.length + 1));
    if (random() < 0.2) items.splice(at, 0, anyValue(random));
    else if (items.length > 0) items[at % items.length] = corruptedOnce(random, items[at % items.length]);
    return items;
  }
  const entries: [string, unknown][] = Object.entries(value);
  const at = Math.floor(random() * entries.length);
  const entry = entries[at];
  const kind = random();
  if (entry === undefined || kind < 0.2) entries.push([pick(random, KEYS), anyValue(random)]);
  else if (kind < 0.3) entries.splice(at, 1);
  else if (kind < 0.4) entry[0] = pick(random, KEYS);
  else entry[1] = corruptedOnce(random, entry[1]);
  return object(entries);
}

/** A text with pieces inserted, removed, repeated or replaced. */
export function corruptedText(random: Random, text: string): string {
  let changed = text;
  const times = 1 + Math.floor(random() * 4);
  for (let i = 0; i < times; i++) {
    const at = Math.floor(random() * (changed.length + 1));
    const to = Math.min(changed.length, at + Math.floor(random() * 20));
    const kind = random();
    const piece =
      kind < 0.4
        ? pick(random, FRAGMENTS)
        : kind < 0.6
          ? changed.slice(at, to).repeat(1 + Math.floor(random() * 8))
          : kind < 0.8
            ? ""
            : String.fromCharCode(Math.floor(random() * 0x300));
    changed = changed.slice(0, at) + piece + changed.slice(kind < 0.4 ? at : to);
  }
  return changed;
}
