import type { GradualWork } from "../gradual-work.ts";
import { entityCode, LONGEST_ENTITY_NAME } from "./html-entities.ts";

/** A text, and the text that it was decoded from; null for an original text. */
export type DecodedText = {
  readonly text: string;
  readonly source: { readonly of: DecodedText; readonly marks: Uint32Array } | null;
};

/** Units that are read between two pauses: a few milliseconds. */
const UNITS_PER_PAUSE = 250_000;

/** The distance between recorded positions in the source. Recording every unit would take longer than decoding. */
const UNITS_PER_MARK = 256;

const [PERCENT, BACKSLASH, AMPERSAND] = [0x25, 0x5c, 0x26];

/** The most digits of an escape: more are no character. */
const [MAX_DECIMALS, MAX_HEX] = [7, 6];

/**
 * The text with its escapes decoded once; null if it has none. It is read unit by unit, without an object for each escape: a
 * page may consist of nothing but escapes.
 */
export function* decodedOnce(of: DecodedText): GradualWork<DecodedText | null> {
  const { text } = of;
  if (!hasEscapes(text)) return null;
  // A decoded character is never longer than its escape.
  const units = new Uint16Array(text.length);
  const marks = new Uint32Array(2 * Math.ceil(text.length / UNITS_PER_MARK) + 2);
  const decoding: Decoding = { text, units, marks, read: 0, written: 0, allBits: 0 };
  while (decoding.read < text.length) {
    decodeUntil(decoding, Math.min(text.length, decoding.read + UNITS_PER_PAUSE));
    if (decoding.read < text.length) yield;
  }
  const { written, allBits } = decoding;
  if (written === text.length) return null;
  return { text: textOfUnits(units.subarray(0, written), allBits), source: { of, marks } };
}

export function hasEscapes(text: string): boolean {
  return text.includes("%") || text.includes("\\") || text.includes("&");
}

/** More than any escape has, also one of several bytes. */
const UNFINISHED_LENGTH = 32;
const IN_ESCAPE = /^[%\\&#;{}0-9A-Za-z]$/;

/** The position of an escape at the end of a text that more text may complete or change; its length if there is none. */
export function unfinishedEscape(text: string): number {
  let [found, at] = [text.length, text.length - 1];
  for (; at >= 0 && at >= text.length - UNFINISHED_LENGTH && IN_ESCAPE.test(text.charAt(at)); at--)
    if (isIntroducer(text.charCodeAt(at))) found = at;
  // Two backslashes are one escape, so how many there are decides what the last one is.
  if (found < text.length) while (text[found - 1] === "\\") found--;
  return found;
}

function isIntroducer(code: number): boolean {
  return code === PERCENT || code === BACKSLASH || code === AMPERSAND;
}

/** The position of a unit of a decoded text, or of its end, in the original text. */
export function positionInOriginal({ text, source }: DecodedText, index: number): number {
  if (source === null) return index;
  const { of, marks } = source;
  if (index >= text.length) return positionInOriginal(of, of.text.length);
  const mark = 2 * Math.floor(index / UNITS_PER_MARK);
  let [written, read] = [marks[mark] ?? 0, marks[mark + 1] ?? 0];
  for (;;) {
    const next = characterAt(of.text, read);
    written += (next & CODE_MASK) > 0xffff ? 2 : 1;
    if (written > index) return positionInOriginal(of, read);
    read += next >>> CODE_BITS;
  }
}

type Decoding = {
  readonly text: string;
  readonly units: Uint16Array;
  /** Pairs of positions: written and read at the start of each part. */
  readonly marks: Uint32Array;
  read: number;
  written: number;
  /** The bitwise OR of all units: shows whether all are Latin-1. */
  allBits: number;
};

function decodeUntil(decoding: Decoding, end: number): void {
  const { text, units, marks } = decoding;
  let { read, written, allBits } = decoding;
  let nextMark = Math.ceil(written / UNITS_PER_MARK);
  while (read < end) {
    if (written >= nextMark * UNITS_PER_MARK) {
      marks[2 * nextMark] = written;
      marks[2 * nextMark + 1] = read;
      nextMark++;
    }
    let code = text.charCodeAt(read);
    let width = 1;
    if (code === PERCENT || code === BACKSLASH || code === AMPERSAND) {
      const escape = escapeAt(text, read, code);
      if (escape !== 0) {
        width = escape >>> CODE_BITS;
        code = escape & CODE_MASK;
        if (code > 0xffff) {
          units[written++] = 0xd800 + ((code - 0x10000) >> 10);
          code = 0xdc00 + ((code - 0x10000) & 0x3ff);
        }
      }
    }
    units[written++] = code;
    allBits |= code;
    read += width;
  }
  Object.assign(decoding, { read, written, allBits });
}

/** The escape at a position, or the unit if there is none. */
function characterAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return (isIntroducer(code) ? escapeAt(text, at, code) : 0) || packed(code, 1);
}

/** The text of some units; `allBits` is the bitwise OR of them all. */
export function textOfUnits(units: Uint16Array, allBits: number): string {
  return allBits < 0x100
    ? Buffer.from(Uint8Array.from(units).buffer).toString("latin1")
    : Buffer.from(units.buffer, units.byteOffset, units.byteLength).toString("utf16le");
}

/** A code point and the width of its escape in one number: an object for each would take ten times as long. */
const CODE_BITS = 21;
const CODE_MASK = 2 ** CODE_BITS - 1;

function packed(code: number, width: number): number {
  return code >= 0 && code <= 0x10ffff ? (width << CODE_BITS) | code : 0;
}

/**
 * An escape of URLs (`%41`, `%u0041`), of code and JSON (`\u0041`, `\u{41}`, `\U00000041`, `\x41`, `\101`, `\n`) or of HTML
 * (`&#65;`, `&#x41;`, `&amp;`); 0 if there is none.
 */
function escapeAt(text: string, at: number, introducer: number): number {
  if (introducer === AMPERSAND) return entityAt(text, at);
  const next = text.charCodeAt(at + 1);
  if (introducer === PERCENT)
    return isLetter(next, "u") ? packed(hexAt(text, at + 2, 4), 6) : bytesAt(text, at, 3);
  if (isLetter(next, "x")) return bytesAt(text, at, 4);
  if (isLetter(next, "u")) return unicodeAt(text, at);
  if (next >= 0x30 && next <= 0x33) {
    const octal = octalAt(text, at + 1);
    if (octal >= 0) return packed(octal, 4);
  }
  const control = CONTROLS[next] ?? -1;
  return control < 0 ? 0 : packed(control, 2);
}

/** The characters written as a backslash and one more character, by that character, in either case. */
const CONTROLS: readonly number[] = (() => {
  const codes = Array<number>(128).fill(-1);
  for (const itself of "\"'\\/") codes[itself.charCodeAt(0)] = itself.charCodeAt(0);
  for (const [letter, code] of Object.entries({ b: 8, f: 12, n: 10, r: 13, t: 9, v: 11, 0: 0 }))
    for (const each of [letter, letter.toUpperCase()]) codes[each.charCodeAt(0)] = code;
  return codes;
})();

function isLetter(code: number, letter: string): boolean {
  return (code | 0x20) === letter.charCodeAt(0);
}

function unicodeAt(text: string, at: number): number {
  if (text.charCodeAt(at + 2) === 0x7b) {
    let digits = 0;
    while (digits < MAX_HEX && hexDigit(text.charCodeAt(at + 3 + digits)) >= 0) digits++;
    const isClosed = digits > 0 && text.charCodeAt(at + 3 + digits) === 0x7d;
    return isClosed ? packed(hexAt(text, at + 3, digits), digits + 4) : 0;
  }
  const long = text.charCodeAt(at + 1) === 0x55 ? hexAt(text, at + 2, 8) : -1;
  return long >= 0 && long <= 0x10ffff ? packed(long, 10) : packed(hexAt(text, at + 2, 4), 6);
}

/** The value of some hexadecimal digits; -1 if one of them is no digit. */
function hexAt(text: string, at: number, digits: number): number {
  let value = 0;
  for (let index = at; index < at + digits; index++) {
    const digit = hexDigit(text.charCodeAt(index));
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

function octalAt(text: string, at: number): number {
  let value = 0;
  for (let index = at; index < at + 3; index++) {
    const digit = text.charCodeAt(index) - 0x30;
    if (!(digit >= 0 && digit <= 7)) return -1;
    value = value * 8 + digit;
  }
  return value;
}

/** The character of escaped bytes, each `width` units long: read as UTF-8 if they are valid, otherwise as Latin-1. */
function bytesAt(text: string, at: number, width: number): number {
  const first = byteAt(text, at, width);
  if (first < 0) return 0;
  const size = first < 0xc2 || first >= 0xf5 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  let code = first & (0xff >> (size + 1));
  for (let n = 1; n < size; n++) {
    const next = byteAt(text, at + n * width, width);
    if (next < 0 || (next & 0xc0) !== 0x80) return packed(first, width);
    code = (code << 6) | (next & 0x3f);
  }
  return size === 1 || code > 0x10ffff ? packed(first, width) : packed(code, size * width);
}

/** A byte written as `%41` or `\x41`, by its width; -1 if there is none. */
function byteAt(text: string, at: number, width: number): number {
  const introducer = text.charCodeAt(at);
  const isByte =
    width === 3 ? introducer === PERCENT : introducer === BACKSLASH && isLetter(text.charCodeAt(at + 1), "x");
  return isByte ? hexAt(text, at + width - 2, 2) : -1;
}

function entityAt(text: string, at: number): number {
  if (text.charCodeAt(at + 1) !== 0x23) return namedEntityAt(text, at);
  const isHex = isLetter(text.charCodeAt(at + 2), "x");
  const [from, base, most] = isHex ? [at + 3, 16, MAX_HEX] : [at + 2, 10, MAX_DECIMALS];
  let code = 0;
  let end = from;
  for (; end < from + most; end++) {
    const digit = hexDigit(text.charCodeAt(end));
    if (digit < 0 || digit >= base) break;
    code = code * base + digit;
  }
  if (end === from) return 0;
  return packed(code, end - at + (text.charCodeAt(end) === 0x3b ? 1 : 0));
}

function namedEntityAt(text: string, at: number): number {
  let end = at + 1;
  while (end <= at + LONGEST_ENTITY_NAME && isNamePart(text.charCodeAt(end))) end++;
  if (end === at + 1 || text.charCodeAt(end) !== 0x3b) return 0;
  const code = entityCode(text.slice(at + 1, end));
  return code === undefined ? 0 : packed(code, end + 1 - at);
}

function isNamePart(code: number): boolean {
  const letter = code | 0x20;
  return (letter >= 0x61 && letter <= 0x7a) || (code >= 0x30 && code <= 0x39);
}

/** The most units that one escaped character takes: `&#0000065;`. */
export const WIDEST_ESCAPE = MAX_DECIMALS + 3;
