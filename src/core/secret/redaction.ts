import { canonicalJson } from "../canonical-json.ts";
import { type GradualWork, runToEnd } from "../gradual-work.ts";
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { normaliseKeyName } from "../naming/key-name.ts";
import {
  isMark,
  markOfNamed,
  markOfSecret,
  marksIn,
  NO_DIGEST,
  objectOf,
  type SecretDigest,
} from "./secret-mark.ts";
import { type FoundSecret, MAX_FOUND, type SecretSearch } from "./secret-search.ts";

/** What to hide, and the digest that replaces it. */
export type Hiding = {
  /** Values under these names are hidden in place, and not searched for elsewhere: they may come from anyone. */
  readonly names: ReadonlySet<string>;
  /** The secrets to find in every text. */
  readonly search: SecretSearch;
  readonly digest: SecretDigest;
};

/**
 * Replaces values under the names (case-insensitive, compared without _ and -), at any depth, the whole value whatever its
 * type, and every occurrence of the known secrets inside any string (values and keys), in all spellings that `SecretSearch`
 * knows. The replacement has a keyed digest, which shows whether two hidden values are equal. Returns the same reference if
 * nothing changed.
 *
 * A name also counts where a string contains JSON text, `"password":"x"`, escaped or not, and where it contains a query,
 * `?password=x`. It does not count in `password=x` or `password: x` elsewhere: that may as well be prose or code.
 *
 * @example
 * redact({ apiKey: "k-123", note: "sent s-456" }, { names: new Set(["api_key"]), search: new SecretSearch(["s-456"]), digest });
 * // { apiKey: "[secret:90f1a1b1f1e9,5-characters]", note: "sent [secret:5e2b1ddc3a07]" }
 */
export function redact(value: Json, hiding: Hiding): Json {
  return runToEnd(redacting(value, hiding));
}

/** The same as gradual work, for values that may be large. */
export function* redacting(value: Json, { names: given, search, digest }: Hiding): GradualWork<Json> {
  const names = secretNames(given);
  if (names === null && search.isEmpty) return value;
  return yield* redactValue(value, { names, search, digest: cached(digest), work: 0 });
}

/** Further values get no digest of their own: each takes a few microseconds. */
const MAX_DIGESTS = 5_000;

/** A secret that occurs a thousand times is digested once. */
function cached(digest: SecretDigest): SecretDigest {
  const digests = new Map<string, string>();
  return (text) => {
    const known = digests.get(text) ?? (digests.size < MAX_DIGESTS ? digest(text) : NO_DIGEST);
    digests.set(text, known);
    return known;
  };
}

/** The ends at which a text was cut off from a longer one. */
export type Torn = { readonly start?: boolean; readonly end?: boolean };

/**
 * A text without its secrets. Where it was cut off there may be a part of a secret, which cannot be recognized: as much as
 * the longest secret is left out there.
 */
export function redactText(text: string, hiding: Hiding, torn: Torn = {}): string {
  return runToEnd(redactingText(text, hiding, torn));
}

/** The same as gradual work, for texts that may be large. */
export function* redactingText(
  text: string,
  hiding: Hiding,
  { start = false, end = false }: Torn = {},
): GradualWork<string> {
  const whole = (yield* redacting(text, hiding)) as string;
  const { longest } = hiding.search;
  return whole.slice(start ? longest : 0, end ? Math.max(0, whole.length - longest) : whole.length);
}

/** The texts (and numbers as texts) under the names, each once, including everything inside an object or an array there. */
export function namedSecrets(value: Json, names: ReadonlySet<string>): readonly string[] {
  const found = new Set<string>();
  const normal = secretNames(names)?.normal;
  if (normal !== undefined) collectNamed(value, normal, found);
  return [...found];
}

function collectNamed(value: Json, names: ReadonlySet<string>, found: Set<string>): void {
  if (Array.isArray(value)) {
    for (const item of value as readonly Json[]) collectNamed(item, names, found);
  } else if (isJsonObject(value)) {
    for (const [key, item] of Object.entries(value))
      if (names.has(normaliseKeyName(key))) collectTexts(item, found);
      else collectNamed(item, names, found);
  }
}

function collectTexts(value: Json, found: Set<string>): void {
  if (typeof value === "string" || typeof value === "number") {
    if (!isMark(String(value))) found.add(String(value));
  } else if (typeof value === "object" && value !== null) {
    for (const item of Object.values(value) as readonly Json[]) collectTexts(item, found);
  }
}

/** Names as they are compared, and the pattern that finds them in a text. */
type SecretNames = { readonly normal: ReadonlySet<string>; readonly pairStart: RegExp };

const preparedNames = new WeakMap<ReadonlySet<string>, SecretNames | null>();

/** Null if there are none. Prepared once, since a run always has the same names. */
function secretNames(given: ReadonlySet<string>): SecretNames | null {
  const known = preparedNames.get(given);
  if (known !== undefined) return known;
  // A name without a letter, "_", would otherwise match the keys "" and "-".
  const normal = new Set([...given].map(normaliseKeyName).filter((name) => name !== ""));
  const prepared = normal.size === 0 ? null : { normal, pairStart: pairStart(normal) };
  preparedNames.set(given, prepared);
  return prepared;
}

type Rewriting = {
  readonly names: SecretNames | null;
  readonly search: SecretSearch;
  readonly digest: SecretDigest;
  /** Roughly the characters searched since the last pause. */
  work: number;
};

/** A few milliseconds. */
const WORK_PER_PAUSE = 200_000;
/** The work per value in addition to its characters. */
const WORK_PER_VALUE = 40;

function* redactValue(value: Json, how: Rewriting): GradualWork<Json> {
  how.work += WORK_PER_VALUE;
  if (how.work > WORK_PER_PAUSE) {
    how.work = 0;
    yield;
  }
  if (typeof value === "string")
    return value.length <= SHORT ? rewritten(value, how) : yield* rewriting(value, how);
  if (typeof value === "number") return how.search.findsNumbers ? redactedNumber(value, how) : value;
  if (isJsonObject(value)) return yield* redactObject(value, how);
  if (!Array.isArray(value)) return value;
  const items = value as readonly Json[];
  const redacted: Json[] = [];
  let changed = false;
  for (const item of items) {
    const newItem = isPlain(item, how) ? item : yield* redactValue(item, how);
    changed ||= newItem !== item;
    redacted.push(newItem);
  }
  return changed ? redacted : items;
}

/** True if the value cannot contain a secret. */
function isPlain(value: Json, { search }: Rewriting): boolean {
  return value === null || typeof value === "boolean" || (typeof value === "number" && !search.findsNumbers);
}

/** Other systems turn texts that look like numbers into numbers. */
function redactedNumber(value: number, how: Rewriting): Json {
  const text = String(value);
  const hidden = rewritten(text, how);
  return hidden === text ? value : hidden;
}

function* redactObject(value: JsonObject, how: Rewriting): GradualWork<JsonObject> {
  const keys = Object.keys(value);
  // Created at the first change: most objects have none.
  let entries: [string, Json][] | null = null;
  for (const [index, key] of keys.entries()) {
    const item = value[key] ?? null;
    how.work += WORK_PER_VALUE;
    const newKey = rewritten(key, how);
    const isNamed = how.names?.normal.has(normaliseKeyName(key)) === true;
    const newItem = isNamed
      ? namedMark(item, how.digest)
      : isPlain(item, how)
        ? item
        : yield* redactValue(item, how);
    if (newKey !== key || newItem !== item)
      entries ??= keys.slice(0, index).map((earlier) => [earlier, value[earlier] ?? null]);
    entries?.push([newKey, newItem]);
  }
  return entries === null ? value : objectOf(entries);
}

function namedMark(value: Json, digest: SecretDigest): string {
  const text = typeof value === "string" ? value : canonicalJson(value);
  return isMark(text) ? text : markOfNamed(digest, text);
}

/** A shorter text needs no pause. */
const SHORT = 50_000;

function rewritten(text: string, how: Rewriting): string {
  how.work += text.length;
  const { names, search, digest } = how;
  const mayHavePair = names !== null && (text.includes('"') || text.includes("="));
  const paired = mayHavePair ? runToEnd(replacingPairs(text, names, digest)) : text;
  return replaceFound(paired, search.find(paired), digest);
}

function* rewriting(text: string, how: Rewriting): GradualWork<string> {
  const { names, search, digest } = how;
  yield;
  const paired = names === null ? text : yield* replacingPairs(text, names, digest);
  return replaceFound(paired, yield* search.search(paired), digest);
}

/**
 * Replaces the secrets that were found with marks. Of one inside another, only the mark of the longer one is left, in any
 * order; two that overlap leave one mark each. Existing marks stay unchanged.
 */
function replaceFound(text: string, found: readonly FoundSecret[], digest: SecretDigest): string {
  const [first] = found;
  if (first === undefined) return text;
  if (found.length > MAX_FOUND) return markOfSecret(digest, first.secret);
  const marks = marksIn(text).map((span) => ({ ...span, mark: text.slice(span.start, span.end) }));
  const spans = [
    ...marks,
    ...found.map((span) => ({ ...span, mark: markOfSecret(digest, span.secret) })),
  ].sort((a, b) => a.start - b.start || b.end - a.end);
  const parts: string[] = [];
  let end = 0;
  let last: string | null = null;
  for (const span of spans) {
    if (span.end <= end) continue;
    const isApart = span.start >= end;
    if (isApart) parts.push(text.slice(end, span.start));
    if (isApart || span.mark !== last) parts.push(span.mark);
    last = span.mark;
    end = span.end;
  }
  return parts.join("") + text.slice(end);
}

/**
 * `"name":`, with the backslashes of JSON inside JSON inside JSON, or `?name=`. Everything but the names is bounded, so that
 * no text takes long.
 */
function pairStart(names: ReadonlySet<string>): RegExp {
  const apart = "[_-]{0,64}";
  const spelled = (name: string) => Array.from(name, literally).join(apart);
  const anyName = `${apart}(?:${[...names].map(spelled).join("|")})${apart}`;
  const blanks = "[ \\t\\r\\n]{0,40}";
  return new RegExp(`(|\\\\|\\\\{3})"(${anyName})\\1"${blanks}:${blanks}|[?&]${anyName}=`, "giu");
}

function literally(letter: string): string {
  return /[\^$\\.*+?()[\]{}|/]/.test(letter) ? `\\${letter}` : letter;
}

/** A name, and the characters that may surround its letters. */
const LONGEST_PAIR_START = 10_000;

function* replacingPairs(
  text: string,
  { pairStart: start }: SecretNames,
  digest: SecretDigest,
): GradualWork<string> {
  const parts: string[] = [];
  let end = 0;
  for (let from = 0; from < text.length; from += SHORT) {
    if (from > 0) yield;
    for (const match of text.slice(from, from + SHORT + LONGEST_PAIR_START).matchAll(start)) {
      if (match.index >= SHORT) break;
      if (from + match.index < end) continue;
      const [whole, escape = "", jsonName] = match;
      const at = from + match.index + whole.length;
      const value = jsonName === undefined ? queryValueAt(text, at) : jsonValueAt(text, at, escape);
      if (value === null || isMark(value.text)) continue;
      parts.push(text.slice(end, at), value.quote, markOfNamed(digest, value.text), value.quote);
      end = value.end;
    }
  }
  return parts.length === 0 ? text : parts.join("") + text.slice(end);
}

/** The names as they are compared; null if there are none. */
export function normalNames(given: ReadonlySet<string>): ReadonlySet<string> | null {
  return secretNames(given)?.normal ?? null;
}

/** The pairs of a name and a value in a text. One that more text may belong to reaches beyond its end. */
export function namedPairsIn(
  text: string,
  given: ReadonlySet<string>,
): readonly { readonly start: number; readonly end: number }[] {
  const names = secretNames(given);
  if (names === null) return [];
  return [...text.matchAll(names.pairStart)].flatMap(
    ({ index: start, 0: whole, 1: escape = "", 2: jsonName }) => {
      const at = start + whole.length;
      const value = jsonName === undefined ? queryValueAt(text, at) : jsonValueAt(text, at, escape);
      const end = value?.end ?? at;
      if (value === null && !/^(?:\\{0,3}|-)$/.test(text.slice(at, at + 4))) return [];
      return [{ start, end: value === null || end === text.length ? text.length + 1 : end }];
    },
  );
}

/** A value in a text: its decoded text, the quote for its replacement, and where it ends. */
type PairValue = { readonly text: string; readonly quote: string; readonly end: number };

function queryValueAt(text: string, at: number): PairValue | null {
  const end = at + text.slice(at).search(/[&#\s"'<>\\]|$/);
  return end === at ? null : { text: decodedQuery(text.slice(at, end)), quote: "", end };
}

const NUMBER = /-?\d[\d.eE+-]{0,400}/y;

/** A string or a number. Objects and arrays in a text are left alone: the end of a broken one is unknown. */
function jsonValueAt(text: string, at: number, escape: string): PairValue | null {
  const quote = `${escape}"`;
  if (text.startsWith(quote, at)) {
    const from = at + quote.length;
    const end = endOfString(text, from, escape.length);
    const inside = text.slice(from, text.startsWith(quote, end - quote.length) ? end - quote.length : end);
    return { text: decodedJson(inside, escape), quote, end };
  }
  NUMBER.lastIndex = at;
  const number = NUMBER.exec(text)?.[0];
  return number === undefined ? null : { text: number, quote, end: at + number.length };
}

/** The decoded text, so that its digest equals that of the same value elsewhere; as written if it was cut off. */
function decodedJson(written: string, escape: string): string {
  try {
    let text = written;
    // No backslash, one or three: JSON, inside JSON, inside JSON.
    for (let depth = escape.length + 1; depth >= 1; depth /= 2) text = JSON.parse(`"${text}"`) as string;
    return text;
  } catch {
    return written;
  }
}

function decodedQuery(written: string): string {
  try {
    return decodeURIComponent(written.replaceAll("+", " "));
  } catch {
    return written;
  }
}

/** The position after the closing quote. A text that was cut off has none: the rest of it belongs to the value. */
function endOfString(text: string, from: number, escapes: number): number {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text[at - slashes - 1] === "\\") slashes++;
    // Fewer than an inner quote has: the surrounding text ends here, so the value was cut off.
    if (slashes < escapes) return at - slashes;
    // At this depth a backslash of the value is written as escapes + 1 backslashes, and its quotes have an odd number of those.
    if (((slashes - escapes) / (escapes + 1)) % 2 === 0) return at + 1;
  }
  return text.length;
}
