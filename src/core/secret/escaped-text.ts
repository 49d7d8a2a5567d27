import type { GradualWork } from "../gradual-work.ts";
import { entityCode, LONGEST_ENTITY_NAME } from "./html-entities.ts";

/** A text, and the one that it was decoded from; null: from none. */
export type DecodedText = {
  readonly text: string;
  readonly source: { readonly of: DecodedText; readonly marks: Uint32Array } | null;
};

/** Units that are read in one step: a few milliseconds. */
const UNITS_A_STEP = 250_000;

/** As often is it noted down where the decoded text stands in the other: for each unit it would take longer than decoding. */
const UNITS_A_MARK = 256;

const [PERCENT, BACKSLASH, AMPERSAND] = [0x25, 0x5c, 0x26];

/** As many digits may an escape have: more are no character. */
const [MOST_DECIMALS, MOST_HEX] = [7, 6];

/**
 * The same text with its escapes decoded, once; null where it has none. Read unit by unit, without an object for each escape:
 * a page may be nothing but escapes.
 */
export function* decodedOnce(of: DecodedText): GradualWork<DecodedText | null> {
  const { text } = of;
  if (!hasEscapes(text)) return null;
  // What an escape stands for is never longer than the escape.
  const units = new Uint16Array(text.length);
  const marks = new Uint32Array(2 * Math.ceil(text.length / UNITS_A_MARK) + 2);
  const decoding: Decoding = { text, units, marks, read: 0, written: 0, allBits: 0 };
  while (decoding.read < text.length) {
    decodeUntil(decoding, Math.min(text.length, decoding.read + UNITS_A_STEP));
    if (decoding.read < text.length) yield;
  }
  const { written, allBits } = decoding;
  if (written === text.length) return null;
  return { text: textOfUnits(units.subarray(0, written), allBits), source: { of, marks } };
}

export function hasEscapes(text: string): boolean {
  return text.includes("%") || text.includes("\\") || text.includes("&");
}

/** Where a unit of a decoded text, or its end, stands in the text that it all began with. */
export function placeOf({ text, source }: DecodedText, index: number): number {
  if (source === null) return index;
  const { of, marks } = source;
  if (index >= text.length) return placeOf(of, of.text.length);
  const mark = 2 * Math.floor(index / UNITS_A_MARK);
  let [written, read] = [marks[mark] ?? 0, marks[mark + 1] ?? 0];
  for (;;) {
    const next = characterAt(of.text, read);
    written += (next & CODE_MASK) > 0xffff ? 2 : 1;
    if (written > index) return placeOf(of, read);
    read += next >>> CODE_BITS;
  }
}

type Decoding = {
  readonly text: string;
  readonly units: Uint16Array;
  /** Pairs: how much was written, and read, when a part began. */
  readonly marks: Uint32Array;
  read: number;
  written: number;
  /** Of all units together: whether one of them is no Latin-1. */
  allBits: number;
};

function decodeUntil(decoding: Decoding, end: number): void {
  const { text, units, marks } = decoding;
  let { read, written, allBits } = decoding;
  let nextMark = Math.ceil(written / UNITS_A_MARK);
  while (read < end) {
    if (written >= nextMark * UNITS_A_MARK) {
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

/** The escape that stands there, or the unit. */
function characterAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  const isIntroducer = code === PERCENT || code === BACKSLASH || code === AMPERSAND;
  return (isIntroducer ? escapeAt(text, at, code) : 0) || packed(code, 1);
}

/** A text of units; `allBits` is what all of them have together. */
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
 * An escape as addresses (`%41`, `%u0041`), code and JSON (`\u0041`, `\u{41}`, `\U00000041`, `\x41`, `\101`, `\n`) and HTML
 * (`&#65;`, `&#x41;`, `&amp;`) have it; 0 where there is none.
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

/** What a backslash and one more character stand for, by that character, in either case. */
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
    while (digits < MOST_HEX && hexDigit(text.charCodeAt(at + 3 + digits)) >= 0) digits++;
    const isClosed = digits > 0 && text.charCodeAt(at + 3 + digits) === 0x7d;
    return isClosed ? packed(hexAt(text, at + 3, digits), digits + 4) : 0;
  }
  const long = text.charCodeAt(at + 1) === 0x55 ? hexAt(text, at + 2, 8) : -1;
  return long >= 0 && long <= 0x10ffff ? packed(long, 10) : packed(hexAt(text, at + 2, 4), 6);
}

/** The number that so many hexadecimal digits make; -1 where something else stands there. */
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

/** One character of bytes that are each written with so many units: UTF-8 where they are that, and Latin-1 where not. */
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

/** A byte as `%41` or `\x41`, by its width; -1 where there is none. */
function byteAt(text: string, at: number, width: number): number {
  const introducer = text.charCodeAt(at);
  const isByte =
    width === 3 ? introducer === PERCENT : introducer === BACKSLASH && isLetter(text.charCodeAt(at + 1), "x");
  return isByte ? hexAt(text, at + width - 2, 2) : -1;
}

function entityAt(text: string, at: number): number {
  if (text.charCodeAt(at + 1) !== 0x23) return namedEntityAt(text, at);
  const isHex = isLetter(text.charCodeAt(at + 2), "x");
  const [from, base, most] = isHex ? [at + 3, 16, MOST_HEX] : [at + 2, 10, MOST_DECIMALS];
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

/** The most units that one character takes when it is escaped once: `&#0000065;`. */
export const WIDEST_ESCAPE = MOST_DECIMALS + 3;
