import { isJsonObject, type Json, type JsonObject } from "./json.ts";

/** What stands where a secret stood. */
export const REDACTED = "[secret]";

/** Shorter texts are not looked for inside others: "12" or "abc" would shred every text they happen to be part of. */
const MIN_SEARCHED_LENGTH = 4;

/** A part of a base64 text shorter than this may well be part of something else. */
const MIN_BASE64_PART_LENGTH = 8;

/**
 * Replaces values under the given key names (case-insensitive, compared without _ and -), at any depth, whole value
 * whatever its type, and every occurrence of the known secret texts inside any string (values and keys). Returns the
 * same reference when nothing changed.
 *
 * A key name also counts where a string contains JSON text, `"password":"x"`, escaped or not, and where it contains a
 * query, `?password=x`. It does not count in `password=x` or `password: x` elsewhere: that may as well be prose or code.
 *
 * @example
 * redact({ apiKey: "k-123", note: "sent k-123" }, new Set(["api_key"]), ["k-123"]);
 * // { apiKey: "[secret]", note: "sent [secret]" }
 */
export function redact(value: Json, keyNames: ReadonlySet<string>, texts: readonly string[]): Json {
  const names = normalised(keyNames);
  const needles = needlesOf(texts);
  if (names.size === 0 && needles.length === 0) return value;
  return redactValue(value, names, (text) => replaceNeedles(replacePairs(text, names), needles));
}

/**
 * The secret strings (and numbers as strings) found under the key names, each once. All that is inside an object or an
 * array under such a name counts.
 */
export function secretsIn(value: Json, keyNames: ReadonlySet<string>): readonly string[] {
  const found = new Set<string>();
  collectSecrets(value, normalised(keyNames), false, found);
  return [...found];
}

/** The form in which key names are compared: `API_Key`, `api-key` and `apikey` are one. */
export function normaliseKeyName(name: string): string {
  return name.replace(/[_-]/g, "").toLowerCase();
}

function normalised(keyNames: ReadonlySet<string>): ReadonlySet<string> {
  // A name without a letter, "_", would otherwise stand for the key "" and for "-".
  return new Set([...keyNames].map(normaliseKeyName).filter((name) => name !== ""));
}

function collectSecrets(value: Json, names: ReadonlySet<string>, secret: boolean, found: Set<string>): void {
  if (typeof value === "string" || typeof value === "number") {
    const text = String(value);
    if (secret && text !== "" && text !== REDACTED) found.add(text);
  } else if (Array.isArray(value)) {
    for (const item of value as readonly Json[]) collectSecrets(item, names, secret, found);
  } else if (isJsonObject(value)) {
    for (const [key, item] of Object.entries(value)) {
      collectSecrets(item, names, secret || names.has(normaliseKeyName(key)), found);
    }
  }
}

type Rewrite = (text: string) => string;

function redactValue(value: Json, names: ReadonlySet<string>, rewrite: Rewrite): Json {
  if (typeof value === "string") return rewrite(value);
  if (isJsonObject(value)) return redactObject(value, names, rewrite);
  if (!Array.isArray(value)) return value;
  const items = value as readonly Json[];
  const redacted = items.map((item) => redactValue(item, names, rewrite));
  return redacted.every((item, index) => item === items[index]) ? items : redacted;
}

function redactObject(value: JsonObject, names: ReadonlySet<string>, rewrite: Rewrite): JsonObject {
  const redacted = new Map<string, Json>();
  let changed = false;
  for (const [key, item] of Object.entries(value)) {
    const newKey = unusedKey(rewrite(key), redacted);
    const newItem = names.has(normaliseKeyName(key)) ? REDACTED : redactValue(item, names, rewrite);
    changed ||= newKey !== key || newItem !== item;
    redacted.set(newKey, newItem);
  }
  return changed ? Object.fromEntries(redacted) : value;
}

/** Two keys that were secrets are one text now, and neither value may be lost. */
function unusedKey(key: string, used: ReadonlyMap<string, Json>): string {
  let free = key;
  for (let n = 2; used.has(free); n++) free = `${key} ${n}`;
  return free;
}

/** All that is to be looked for: each text in each form that it commonly takes inside another. */
function needlesOf(texts: readonly string[]): readonly string[] {
  const searched = texts.filter((text) => text.length >= MIN_SEARCHED_LENGTH);
  // The mark itself too, so that a secret that is part of it does not grow the marks that are there already.
  return searched.length === 0 ? [] : [...new Set([REDACTED, ...searched.flatMap(formsOf)])];
}

function formsOf(text: string): readonly string[] {
  const json = jsonEscaped(text);
  // Half a character can be neither percent-encoded nor written as bytes.
  const whole = text.toWellFormed();
  const url = encodeURIComponent(whole);
  return [
    text,
    json,
    asciiOnly(json),
    jsonEscaped(json),
    url,
    url.replace(/%../g, (code) => code.toLowerCase()),
    new URLSearchParams([["", whole]]).toString().slice("=".length),
    ...base64FormsOf(Buffer.from(whole, "utf8")),
  ];
}

function jsonEscaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** As Python and PHP write JSON. */
function asciiOnly(json: string): string {
  return json.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * The secret encoded by itself, and the characters that it makes alone wherever it begins in a longer text: that is how
 * `Authorization: Basic` carries a password, behind a user name and a colon.
 */
function base64FormsOf(bytes: Buffer): readonly string[] {
  const whole = bytes.toString("base64");
  const parts = [0, 1, 2].map((offset) => {
    const shifted = Buffer.concat([Buffer.alloc(offset), bytes]);
    // Six bits a character: only those that hold no bit of a neighbour.
    return shifted
      .toString("base64")
      .slice(Math.ceil((offset * 8) / 6), Math.floor((shifted.length * 8) / 6));
  });
  const forms = [
    whole,
    whole.replace(/=+$/, ""),
    ...parts.filter((part) => part.length >= MIN_BASE64_PART_LENGTH),
  ];
  return [...forms, ...forms.map((form) => form.replaceAll("+", "-").replaceAll("/", "_"))];
}

/**
 * Finds all of them before it replaces any, and makes one mark of those that overlap: a secret inside another leaves
 * nothing of the longer one, in whatever order they come.
 */
function replaceNeedles(text: string, needles: readonly string[]): string {
  const found = needles.flatMap((needle) => occurrences(text, needle)).sort((a, b) => a.start - b.start);
  let result = "";
  let end = 0;
  for (const span of found) {
    if (span.start >= end) result += text.slice(end, span.start) + REDACTED;
    end = Math.max(end, span.end);
  }
  return result + text.slice(end);
}

type Span = { readonly start: number; readonly end: number };

/** Also those that overlap each other, as "aaaa" does in "aaaaa". */
function occurrences(text: string, needle: string): readonly Span[] {
  const spans: Span[] = [];
  for (let start = text.indexOf(needle); start !== -1; start = text.indexOf(needle, start + 1)) {
    spans.push({ start, end: start + needle.length });
  }
  return spans;
}

/**
 * `"name":`, with the backslashes of JSON inside JSON inside JSON, or `?name=`. Names and blanks have a limit, so that
 * no text takes long.
 */
const PAIR_START =
  /(|\\|\\{3})"([^"\\]{1,64})\1"[ \t\r\n]{0,40}:[ \t\r\n]{0,40}|[?&]([^=&?#\s"'<>\\]{1,64})=/g;

function replacePairs(text: string, names: ReadonlySet<string>): string {
  if (names.size === 0) return text;
  let result = "";
  let end = 0;
  for (const match of text.matchAll(PAIR_START)) {
    const [start, escape = "", jsonName, queryName = ""] = match;
    if (match.index < end || !names.has(normaliseKeyName(jsonName ?? queryName))) continue;
    const at = match.index + start.length;
    const value = jsonName === undefined ? queryValueAt(text, at) : jsonValueAt(text, at, escape);
    if (value === null) continue;
    result += text.slice(end, at) + value.mark;
    end = value.end;
  }
  return result + text.slice(end);
}

type PairValue = { readonly mark: string; readonly end: number };

function queryValueAt(text: string, at: number): PairValue | null {
  const end = at + text.slice(at).search(/[&#\s"'<>\\]|$/);
  return end === at ? null : { mark: REDACTED, end };
}

/** A string or a number; objects and arrays in a text are left alone, since nothing says where a broken one ends. */
function jsonValueAt(text: string, at: number, escape: string): PairValue | null {
  const quote = `${escape}"`;
  const mark = `${quote}${REDACTED}${quote}`;
  if (text.startsWith(quote, at)) {
    return { mark, end: endOfString(text, at + quote.length, escape.length) };
  }
  const number = /^-?\d[\d.eE+-]*/.exec(text.slice(at, at + 400))?.[0];
  return number === undefined ? null : { mark, end: at + number.length };
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
