import { canonicalJson } from "./canonical-json.ts";
import { isJsonObject, type Json, type JsonObject } from "./json.ts";
import { isMark, markOfNamed, markOfSecret, marksIn, type SecretDigest, unusedKey } from "./secret-mark.ts";
import type { SecretSearch } from "./secret-search.ts";

/** What is hidden, and the digest that is left of it. */
export type Hiding = {
  /** Values under these names are hidden where they stand, and looked for nowhere else: anybody may have given them. */
  readonly names: ReadonlySet<string>;
  /** What is looked for in every text. */
  readonly search: SecretSearch;
  readonly digest: SecretDigest;
};

/**
 * Replaces values under the names (case-insensitive, compared without _ and -), at any depth, whole value whatever its type,
 * and every occurrence of the known secrets inside any string (values and keys), in all spellings that `SecretSearch` knows.
 * What stands there instead has a keyed digest, so that two hidden values can be told apart and shown to be equal. Returns the
 * same reference when nothing changed.
 *
 * A name also counts where a string contains JSON text, `"password":"x"`, escaped or not, and where it contains a query,
 * `?password=x`. It does not count in `password=x` or `password: x` elsewhere: that may as well be prose or code.
 *
 * @example
 * redact({ apiKey: "k-123", note: "sent s-456" }, { names: new Set(["api_key"]), search: new SecretSearch(["s-456"]), digest });
 * // { apiKey: "[secret:90f1a1b1f1e9,5-characters]", note: "sent [secret:5e2b1ddc3a07]" }
 */
export function redact(value: Json, hiding: Hiding): Json {
  const names = normalised(hiding.names);
  const { search, digest } = hiding;
  if (names.size === 0 && search.isEmpty) return value;
  const known = cached(digest);
  const rewrite = (text: string) => replaceFound(replacePairs(text, names, digest), search, known);
  return redactValue(value, { names, digest, rewrite });
}

/** A text that holds a secret a thousand times has it digested once. */
function cached(digest: SecretDigest): SecretDigest {
  const digests = new Map<string, string>();
  return (text) => {
    const known = digests.get(text) ?? digest(text);
    digests.set(text, known);
    return known;
  };
}

/** At which of its ends a text was torn off from what it is a part of. */
export type Torn = { readonly start?: boolean; readonly end?: boolean };

/**
 * A text without its secrets. Where it was torn, a part of a secret may stand, which nobody can know as one: as much as that
 * could be is left out.
 */
export function redactText(text: string, hiding: Hiding, { start = false, end = false }: Torn = {}): string {
  const whole = redact(text, hiding) as string;
  const { longest } = hiding.search;
  return whole.slice(start ? longest : 0, end ? Math.max(0, whole.length - longest) : whole.length);
}

/** The texts (and numbers as texts) under the names, each once; all that is inside of an object or an array there counts. */
export function namedSecrets(value: Json, names: ReadonlySet<string>): readonly string[] {
  const found = new Set<string>();
  if (names.size > 0) collectNamed(value, normalised(names), false, found);
  return [...found];
}

function collectNamed(value: Json, names: ReadonlySet<string>, isNamed: boolean, found: Set<string>): void {
  if (typeof value === "string" || typeof value === "number") {
    if (isNamed && !isMark(String(value))) found.add(String(value));
  } else if (Array.isArray(value)) {
    for (const item of value as readonly Json[]) collectNamed(item, names, isNamed, found);
  } else if (isJsonObject(value)) {
    for (const [key, item] of Object.entries(value))
      collectNamed(item, names, isNamed || names.has(normaliseKeyName(key)), found);
  }
}

/** The form in which key names are compared: `API_Key`, `api-key` and `apikey` are one. */
export function normaliseKeyName(name: string): string {
  return name.replace(/[_-]/g, "").toLowerCase();
}

function normalised(keyNames: ReadonlySet<string>): ReadonlySet<string> {
  // A name without a letter, "_", would otherwise stand for the key "" and for "-".
  return new Set([...keyNames].map(normaliseKeyName).filter((name) => name !== ""));
}

type Rewriting = {
  readonly names: ReadonlySet<string>;
  readonly digest: SecretDigest;
  readonly rewrite: (text: string) => string;
};

function redactValue(value: Json, how: Rewriting): Json {
  if (typeof value === "string") return how.rewrite(value);
  if (isJsonObject(value)) return redactObject(value, how);
  if (!Array.isArray(value)) return value;
  const items = value as readonly Json[];
  const redacted = items.map((item) => redactValue(item, how));
  return redacted.every((item, index) => item === items[index]) ? items : redacted;
}

function redactObject(value: JsonObject, how: Rewriting): JsonObject {
  const redacted = new Map<string, Json>();
  let changed = false;
  for (const [key, item] of Object.entries(value)) {
    const newKey = unusedKey(how.rewrite(key), redacted);
    const isNamed = how.names.has(normaliseKeyName(key));
    const newItem = isNamed ? namedMark(item, how.digest) : redactValue(item, how);
    changed ||= newKey !== key || newItem !== item;
    redacted.set(newKey, newItem);
  }
  return changed ? Object.fromEntries(redacted) : value;
}

function namedMark(value: Json, digest: SecretDigest): string {
  const text = typeof value === "string" ? value : canonicalJson(value);
  return isMark(text) ? text : markOfNamed(digest, text);
}

/**
 * Finds all of them before it replaces any: of one inside another nothing is left but the mark of the longer one, in whatever
 * order they come, and those that overlap leave a mark each. Marks that are there already stay as they are.
 */
function replaceFound(text: string, search: SecretSearch, digest: SecretDigest): string {
  const found = search.find(text);
  if (found.length === 0) return text;
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
 * `"name":`, with the backslashes of JSON inside JSON inside JSON, or `?name=`. Names and blanks have a limit, so that
 * no text takes long.
 */
const PAIR_START =
  /(|\\|\\{3})"([^"\\]{1,64})\1"[ \t\r\n]{0,40}:[ \t\r\n]{0,40}|[?&]([^=&?#\s"'<>\\]{1,64})=/g;

function replacePairs(text: string, names: ReadonlySet<string>, digest: SecretDigest): string {
  if (names.size === 0) return text;
  let result = "";
  let end = 0;
  for (const match of text.matchAll(PAIR_START)) {
    const [start, escape = "", jsonName, queryName = ""] = match;
    if (match.index < end || !names.has(normaliseKeyName(jsonName ?? queryName))) continue;
    const at = match.index + start.length;
    const value = jsonName === undefined ? queryValueAt(text, at) : jsonValueAt(text, at, escape);
    if (value === null || isMark(value.text)) continue;
    result += `${text.slice(end, at)}${value.quote}${markOfNamed(digest, value.text)}${value.quote}`;
    end = value.end;
  }
  return result + text.slice(end);
}

/** A value in a text: what it says, what it is to be quoted with, and where it ends. */
type PairValue = { readonly text: string; readonly quote: string; readonly end: number };

function queryValueAt(text: string, at: number): PairValue | null {
  const end = at + text.slice(at).search(/[&#\s"'<>\\]|$/);
  return end === at ? null : { text: meantInQuery(text.slice(at, end)), quote: "", end };
}

/** A string or a number; objects and arrays in a text are left alone, since nothing says where a broken one ends. */
function jsonValueAt(text: string, at: number, escape: string): PairValue | null {
  const quote = `${escape}"`;
  if (text.startsWith(quote, at)) {
    const from = at + quote.length;
    const end = endOfString(text, from, escape.length);
    const inside = text.slice(from, text.startsWith(quote, end - quote.length) ? end - quote.length : end);
    return { text: meantInJson(inside, escape), quote, end };
  }
  const number = /^-?\d[\d.eE+-]*/.exec(text.slice(at, at + 400))?.[0];
  return number === undefined ? null : { text: number, quote, end: at + number.length };
}

/** What is meant, so that the digest is that of the same value elsewhere; as it is written where it was cut off. */
function meantInJson(written: string, escape: string): string {
  try {
    let text = written;
    // No backslash, one or three: JSON, inside JSON, inside JSON.
    for (let depth = escape.length + 1; depth >= 1; depth /= 2) text = JSON.parse(`"${text}"`) as string;
    return text;
  } catch {
    return written;
  }
}

function meantInQuery(written: string): string {
  try {
    return decodeURIComponent(written.replaceAll("+", " "));
  } catch {
    return written;
  }
}

/** Behind the closing quote; where a text was cut off there is none, and all that is left belongs to the value. */
function endOfString(text: string, from: number, escapes: number): number {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text[at - slashes - 1] === "\\") slashes++;
    // Fewer than an inner quote has: the text around the value ends here, so the value was cut off.
    if (slashes < escapes) return at - slashes;
    // At this depth a backslash of the value is written as escapes + 1 of them, and a quote of it has an odd number of those.
    if (((slashes - escapes) / (escapes + 1)) % 2 === 0) return at + 1;
  }
  return text.length;
}
