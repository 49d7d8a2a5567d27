import { createHmac } from "node:crypto";
import { isJsonObject, type Json, type JsonObject } from "../json.ts";

/** Replaces a secret without a digest: when a `Secret` is printed, and in runs of earlier versions. */
export const REDACTED = "[secret]";

/** The keyed digest of a hidden text: equal texts have equal digests, and no text can be guessed without the key. */
export type SecretDigest = (text: string) => string;

/** Long enough to distinguish all values of a store. */
const DIGEST_LENGTH = 12;

/** A mark, as written by this version or by earlier ones. It has no space, quote or backslash that could break a text. */
const MARK = /\[secret(?::[0-9a-f]{12}(?:,\d{1,16}-characters)?)?\]/g;
const ONLY_A_MARK = new RegExp(`^${MARK.source}$`);
const MARK_WITH_DIGEST = /\[secret:[0-9a-f]{12}(?:,\d{1,16}-characters)?\]/g;
/** Also in a mark that was cut off. */
const DIGEST_IN_MARK = /\[secret:[0-9a-f]{0,12}(?:,[\d\-a-z]{0,27})?\]?/g;

/** The digest function of a store or an operator; the key is read when the first text is hidden. */
export function digestWith(key: () => Uint8Array): SecretDigest {
  return (text) => createHmac("sha256", key()).update(text, "utf8").digest("hex").slice(0, DIGEST_LENGTH);
}

/** Replaces a digest when there are too many values to make one for each. */
export const NO_DIGEST = "0".repeat(DIGEST_LENGTH);

/** Replaces a secret that the operator or the run's own code provided, in any spelling. */
export function markOfSecret(digest: SecretDigest, secret: string): string {
  return `[secret:${digest(secret)}]`;
}

/** Replaces a value under a secret name. It shows the length, since the value's source may not be trusted. */
export function markOfNamed(digest: SecretDigest, value: string): string {
  return `[secret:${digest(value)},${value.length}-characters]`;
}

export function isMark(text: string): boolean {
  return text.startsWith("[secret") && ONLY_A_MARK.test(text);
}

/** The positions of the marks in a text. */
export function marksIn(text: string): readonly { readonly start: number; readonly end: number }[] {
  if (!text.includes("[secret")) return [];
  return [...text.matchAll(MARK)].map(({ index, 0: mark }) => ({ start: index, end: index + mark.length }));
}

/** The mark around a position in a text; null if the text may be cut there. */
export function markAround(
  text: string,
  at: number,
): { readonly start: number; readonly end: number } | null {
  const from = Math.max(0, at - LONGEST_MARK);
  const around = marksIn(text.slice(from, at + LONGEST_MARK));
  const found = around.find(({ start, end }) => from + start < at && at < from + end);
  return found === undefined ? null : { start: from + found.start, end: from + found.end };
}

const LONGEST_MARK = "[secret:0123456789ab,9007199254740991-characters]".length;

/** True if a value contains a mark: part of it is lost. */
export function holdsMark(value: Json): boolean {
  if (typeof value === "string") return marksIn(value).length > 0;
  if (Array.isArray(value)) return value.some(holdsMark);
  return isJsonObject(value) && Object.values(value).some(holdsMark);
}

/**
 * One sentence for people per mark in a value: where it is, why it is hidden, how long it is, and the digest that
 * distinguishes it from others.
 */
export function hiddenIn(value: Json, path: string): string[] {
  if (typeof value === "string")
    return [...new Set(value.match(MARK) ?? [])].map((mark) => hiddenAs(mark, path));
  if (Array.isArray(value)) return value.flatMap((item: Json, index) => hiddenIn(item, `${path}[${index}]`));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => [
    ...hiddenIn(key, `a name in ${path}`),
    ...hiddenIn(item, `${path}.${key}`),
  ]);
}

function hiddenAs(mark: string, path: string): string {
  const [, digest, characters] = /^\[secret:([0-9a-f]+)(?:,(\d+))?/.exec(mark) ?? [];
  if (digest === undefined)
    return `${path} has the text ${REDACTED}: it was written that way, or hidden by an earlier version.`;
  if (characters === undefined)
    return `${path} is hidden because it contains a secret of the operator or of the run's code: digest ${digest}.`;
  const known = digest === NO_DIGEST ? "one of too many to have a digest" : `digest ${digest}`;
  return `${path} is hidden because policy.secretKeys has its name: ${characters} characters, ${known}.`;
}

/**
 * The same with bare marks. For a model, which could otherwise find a short secret by having guesses hidden until a digest
 * is the same; and for comparisons with values from an earlier version, or from a store with another key.
 */
export function withoutDigests<T extends Json>(value: T): T {
  return bare(value, DIGEST_IN_MARK) as T;
}

/** The same for a value from a source that never sees digests: one that it has is forged. Anything else stays unchanged. */
export function withoutForgedDigests<T extends Json>(value: T): T {
  return bare(value, MARK_WITH_DIGEST) as T;
}

/** True if something was hidden in a value that had no digests before. */
export function isHiddenIn(value: Json): boolean {
  return withoutForgedDigests(value) !== value;
}

function bare(value: Json, digests: RegExp): Json {
  if (typeof value === "string")
    return value.includes("[secret:") ? value.replaceAll(digests, REDACTED) : value;
  if (Array.isArray(value)) {
    const items = value as readonly Json[];
    const changed = items.map((item) => bare(item, digests));
    return changed.some((item, index) => item !== items[index]) ? changed : items;
  }
  if (!isJsonObject(value)) return value;
  const keys = Object.keys(value);
  // Created at the first change: most objects have none.
  let entries: [string, Json][] | null = null;
  for (const [index, key] of keys.entries()) {
    const item = value[key] ?? null;
    const [newKey, newItem] = [bare(key, digests) as string, bare(item, digests)];
    if (newKey !== key || newItem !== item)
      entries ??= keys.slice(0, index).map((earlier) => [earlier, value[earlier] ?? null]);
    entries?.push([newKey, newItem]);
  }
  return entries === null ? value : objectOf(entries);
}

/**
 * Two hidden keys may have the same text now, and neither value may be lost: the second key gets a number. The next free
 * number is cached for each text, since there may be thousands.
 */
export function objectOf(entries: readonly (readonly [string, Json])[]): JsonObject {
  const found = new Map<string, Json>();
  const next = new Map<string, number>();
  for (const [key, item] of entries) {
    let free = key;
    for (let n = next.get(key) ?? 2; found.has(free); n++) {
      free = `${key} ${n}`;
      next.set(key, n + 1);
    }
    found.set(free, item);
  }
  return Object.fromEntries(found);
}
