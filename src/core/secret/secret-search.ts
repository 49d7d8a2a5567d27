import { type GradualWork, runToEnd } from "../gradual-work.ts";
import {
  type DecodedText,
  decodedOnce,
  hasEscapes,
  placeOf,
  textOfUnits,
  WIDEST_ESCAPE,
} from "./escaped-text.ts";

/** Shorter texts are not looked for inside others: "12" or "abc" would shred every text they happen to be part of. */
const MIN_SEARCHED_LENGTH = 4;

/** Shorter ones without a digit count as they are written only: "Test" is a word, whatever "test" may be. */
const MIN_ANY_CASE_LENGTH = 8;

/** A part of a base64 text shorter than this may well be part of something else. */
const MIN_BASE64_PART_LENGTH = 8;

/** JSON in JSON in JSON, an address in an address: as often is a text decoded. */
const MAX_DECODINGS = 3;

/** In a text that holds more secrets than this, whoever wrote it knows them, and means to keep somebody busy. */
export const MAX_FOUND = 10_000;

/** Units that are searched in one step, for one after the other: a few milliseconds. */
const UNITS_A_STEP = 20_000_000;

/** Where a secret stands in a text, in whatever spelling. */
export type FoundSecret = { readonly start: number; readonly end: number; readonly secret: string };

type Needle = { readonly text: string; readonly secret: string };

/**
 * The known secrets, ready to be looked for. A text is searched as it stands, and with its escapes decoded (URLs, JSON and
 * code, HTML, one inside the other): a character of a secret counts however it is written there, in upper or lower case. Hex
 * and base64 have spellings of their own, base64 wherever the secret begins in it. What is split, reversed, compressed,
 * encrypted or encoded in another way is not found.
 */
export class SecretSearch {
  /** Looked for in any case of letters; the shortest first. */
  readonly #anyCase: readonly Needle[];
  readonly #exact: readonly Needle[];
  /** Whether one of them has several lines: then line ends are blanks. */
  readonly #hasLines: boolean;
  /** Whether one of them may be written as a number. */
  readonly findsNumbers: boolean;
  /** The most characters that one of them may take in a text: so much of a torn end may be a part of one. */
  readonly longest: number;

  constructor(texts: Iterable<string>) {
    const secrets = [...new Set([...texts].map((text) => text.trim()))];
    const searched = secrets.filter((text) => text.length >= MIN_SEARCHED_LENGTH);
    this.#hasLines = searched.some((text) => LINE_END.test(text));
    const isWord = (text: string) => text.length < MIN_ANY_CASE_LENGTH && !/\d/.test(text);
    this.#anyCase = needles(searched, (text) => [
      ...(isWord(text) ? [] : variants(text)),
      ...bytesOf(text).flatMap((bytes) => [...hexForms(bytes), ...base64Forms(bytes)]),
    ]).map(({ text, secret }) => ({ text: this.#folded(text), secret }));
    this.#exact = needles(searched.filter(isWord), variants).map(({ text, secret }) => ({
      text: this.#spaced(text),
      secret,
    }));
    this.findsNumbers = [...this.#anyCase, ...this.#exact].some(({ text }) => /^[\d.e+ -]+$/.test(text));
    this.longest = Math.max(0, ...searched.map(({ length }) => length)) * WIDEST_CHARACTER;
  }

  get isEmpty(): boolean {
    return this.#anyCase.length === 0;
  }

  /** All of them, also those that overlap, in no order; not all where there are more than `MAX_FOUND`. */
  find(text: string): readonly FoundSecret[] {
    if (this.isEmpty || text.length < MIN_SEARCHED_LENGTH) return [];
    if (text.length > UNITS_A_STEP || hasEscapes(text)) return runToEnd(this.search(text));
    // Most texts are names and words.
    const found: FoundSecret[] = [];
    this.#look({ text, source: null }, this.#folded(text), 0, found);
    return found;
  }

  /** The same in steps, for what may be large. */
  *search(text: string): GradualWork<readonly FoundSecret[]> {
    const found: FoundSecret[] = [];
    if (this.isEmpty || text.length < MIN_SEARCHED_LENGTH) return found;
    let level: DecodedText | null = { text, source: null };
    for (let n = 0; level !== null && n <= MAX_DECODINGS; n++) {
      const haystack = this.#folded(level.text);
      let next = this.#look(level, haystack, 0, found);
      for (; next !== null; next = this.#look(level, haystack, next, found)) yield;
      if (found.length > MAX_FOUND) return found;
      level = yield* decodedOnce(level);
    }
    return found;
  }

  /** Looks for as many as one step allows, from one of them on. Returns which is next, and null where none is. */
  #look(level: DecodedText, haystack: string, from: number, found: FoundSecret[]): number | null {
    if (from === 0 && this.#exact.length > 0) {
      const asWritten = this.#spaced(level.text);
      for (const needle of this.#exact) collect(asWritten, needle, level, found);
    }
    const many = Math.max(1, Math.floor(UNITS_A_STEP / haystack.length));
    for (let index = from; index < this.#anyCase.length; index++) {
      const needle = this.#anyCase[index];
      if (needle === undefined || needle.text.length > haystack.length) return null;
      if (index - from >= many) return index;
      collect(haystack, needle, level, found);
    }
    return null;
  }

  /** In small letters, and exactly as long as before. */
  #folded(text: string): string {
    return this.#spaced(text).toLowerCase();
  }

  #spaced(text: string): string {
    const isFine =
      !SIGNS.some((sign) => text.includes(sign)) &&
      !(this.#hasLines && LINE_ENDS.some((end) => text.includes(end)));
    return isFine ? text : evened(text, this.#hasLines ? "one line" : "lines");
  }
}

/** What is put down as something else before letters are made small. */
const SIGNS = ["+", "İ", "Σ", "ς"];
const LINE_ENDS = ["\r", "\n", "\t"];

/**
 * A text of the same length in which forms have blanks for plus signs, İ is one unit in small letters too, sigma is the same
 * wherever it stands in a word, and lines, if that is wanted, are one.
 */
function evened(text: string, as: "one line" | "lines"): string {
  const units = new Uint16Array(text.length);
  let allBits = 0;
  for (let index = 0; index < text.length; index++) {
    const code = evenedUnit(text.charCodeAt(index), as);
    units[index] = code;
    allBits |= code;
  }
  return textOfUnits(units, allBits);
}

function evenedUnit(code: number, as: "one line" | "lines"): number {
  if (code === 0x2b) return 0x20;
  if (code < 0x20)
    return as === "one line" && (code === 0x09 || code === 0x0a || code === 0x0d) ? 0x20 : code;
  if (code === 0x130) return 0x69;
  return code === 0x3a3 || code === 0x3c2 ? 0x3c3 : code;
}

const LINE_END = /[\r\n]/;

/** Of a character that is escaped twice, as long as that can be: a third time around is for whoever pads in vain. */
const WIDEST_CHARACTER = WIDEST_ESCAPE ** 2;

/** Those in the places that are found first come first: the shortest. */
function needles(
  secrets: readonly string[],
  formsOf: (text: string) => readonly string[],
): readonly Needle[] {
  return secrets
    .flatMap((secret) => [...new Set(formsOf(secret))].map((text) => ({ text, secret })))
    .sort((a, b) => a.text.length - b.text.length);
}

/** Half a character becomes another one on its way, and a line end two. */
function variants(text: string): readonly string[] {
  const whole = text.toWellFormed();
  return [
    text,
    whole,
    ...(LINE_END.test(text) ? [whole.replaceAll(/\r?\n/g, "\r\n"), whole.replaceAll("\r\n", "\n")] : []),
  ];
}

/** In the encodings that texts usually have. */
function bytesOf(text: string): readonly Buffer[] {
  const whole = text.toWellFormed();
  const isLatin1 = /[\x80-\xff]/.test(whole) && !/[^\0-\xff]/.test(whole);
  return [
    Buffer.from(whole, "utf8"),
    Buffer.from(text, "utf16le"),
    Buffer.from(text, "utf16le").swap16(),
    ...(isLatin1 ? [Buffer.from(whole, "latin1")] : []),
  ];
}

/** As it is, and with what usually stands between bytes. */
function hexForms(bytes: Buffer): readonly string[] {
  const pairs = bytes.toString("hex").match(/../g) ?? [];
  return ["", ":", " "].map((between) => pairs.join(between));
}

/**
 * The bytes encoded by themselves, and the characters that they make alone wherever they begin in a longer text: that is how
 * `Authorization: Basic` carries a password, behind a user name and a colon.
 */
function base64Forms(bytes: Buffer): readonly string[] {
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

/** Those that overlap each other, as "aaaa" does in "aaaaa", are one. */
function collect(
  text: string,
  { text: needle, secret }: Needle,
  level: DecodedText,
  found: FoundSecret[],
): void {
  let start = text.indexOf(needle);
  while (start !== -1 && found.length <= MAX_FOUND) {
    let end = start + needle.length;
    let next = text.indexOf(needle, start + 1);
    for (; next !== -1 && next < end; next = text.indexOf(needle, next + 1)) end = next + needle.length;
    found.push({ start: placeOf(level, start), end: placeOf(level, end), secret });
    start = next;
  }
}
