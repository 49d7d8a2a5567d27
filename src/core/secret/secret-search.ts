import { type GradualWork, runToEnd } from "../gradual-work.ts";
import {
  type DecodedText,
  decodedOnce,
  hasEscapes,
  positionInOriginal,
  textOfUnits,
  unfinishedEscape,
  WIDEST_ESCAPE,
} from "./escaped-text.ts";

/** Shorter secrets are not searched for: "12" or "abc" would shred every text that happens to contain them. */
const MIN_SEARCHED_LENGTH = 4;

/** Shorter secrets without a digit match in their exact case only: "Test" is a word, even if "test" is a secret. */
const MIN_ANY_CASE_LENGTH = 8;

/** A shorter part of a base64 text may well belong to something else. */
const MIN_BASE64_PART_LENGTH = 8;

/** How often a text is decoded: JSON in JSON in JSON, a URL in a URL. */
const MAX_DECODINGS = 3;

/** The author of a text with more secrets than this knows them already, and only tries to waste time. */
export const MAX_FOUND = 10_000;

/** Units that are searched between two pauses, over all secrets: a few milliseconds. */
const UNITS_PER_PAUSE = 20_000_000;

/** The position of a secret in a text, in any spelling. */
export type FoundSecret = { readonly start: number; readonly end: number; readonly secret: string };

type Needle = { readonly text: string; readonly secret: string };

/**
 * Searches texts for the known secrets. A text is searched as written, and with its escapes decoded (URLs, JSON and code,
 * HTML, one inside the other): a character of a secret matches however it is escaped, in upper or lower case. Hex and base64
 * forms are found, too, base64 at any offset. A secret that is split, reversed, compressed, encrypted or encoded in another
 * way is not found.
 */
export class SecretSearch {
  /** Matched in upper and lower case; the shortest first. */
  readonly #anyCase: readonly Needle[];
  readonly #exact: readonly Needle[];
  /** One of the secrets has several lines: then line ends count as spaces. */
  readonly #hasLines: boolean;
  /** One of the secrets may be written as a number. */
  readonly findsNumbers: boolean;
  /** The most characters that one secret may take in a text: this much of a cut-off end may be part of one. */
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

  /** All occurrences, overlapping ones included, in no order; not all if there are more than `MAX_FOUND`. */
  find(text: string): readonly FoundSecret[] {
    if (this.isEmpty || text.length < MIN_SEARCHED_LENGTH) return [];
    if (text.length > UNITS_PER_PAUSE || hasEscapes(text)) return runToEnd(this.search(text));
    // The fast path: most texts are names and words.
    const found: FoundSecret[] = [];
    this.#look({ text, source: null }, this.#folded(text), 0, found);
    return found;
  }

  /** The same as gradual work, for texts that may be large. */
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

  /**
   * The position from which a secret may have begun of which the text holds only the beginning, in any spelling; the text's
   * length if there is none. For texts that come in pieces, which are short.
   */
  pendingFrom(text: string): number {
    let from = text.length;
    if (this.isEmpty) return from;
    let level: DecodedText | null = { text, source: null };
    for (let n = 0; level !== null && n <= MAX_DECODINGS; n++) {
      const { text: written, source }: DecodedText = level;
      const escape = unfinishedEscape(written);
      if (escape < written.length) from = Math.min(from, positionInOriginal(level, escape));
      const stable: DecodedText = { text: written.slice(0, escape), source };
      const begun = Math.max(
        begunLength(this.#folded(stable.text), this.#anyCase),
        begunLength(this.#spaced(stable.text), this.#exact),
      );
      if (begun > 0) from = Math.min(from, positionInOriginal(stable, escape - begun));
      level = runToEnd(decodedOnce(stable));
    }
    return from;
  }

  /** Searches for as many secrets as fit between two pauses, starting at `from`. Returns the next index, or null at the end. */
  #look(level: DecodedText, haystack: string, from: number, found: FoundSecret[]): number | null {
    if (from === 0 && this.#exact.length > 0) {
      const asWritten = this.#spaced(level.text);
      for (const needle of this.#exact) collect(asWritten, needle, level, found);
    }
    const many = Math.max(1, Math.floor(UNITS_PER_PAUSE / haystack.length));
    for (let index = from; index < this.#anyCase.length; index++) {
      const needle = this.#anyCase[index];
      if (needle === undefined || needle.text.length > haystack.length) return null;
      if (index - from >= many) return index;
      collect(haystack, needle, level, found);
    }
    return null;
  }

  /** In lower case, and exactly as long as before. */
  #folded(text: string): string {
    return this.#spaced(text).toLowerCase();
  }

  #spaced(text: string): string {
    const isFine =
      !SIGNS.some((sign) => text.includes(sign)) &&
      !(this.#hasLines && LINE_ENDS.some((end) => text.includes(end)));
    return isFine ? text : normalized(text, this.#hasLines ? "one line" : "lines");
  }
}

/** The length of the longest beginning of a secret that the text ends with, but not a whole one. */
function begunLength(text: string, all: readonly Needle[]): number {
  let longest = 0;
  for (const { text: needle } of all) {
    const first = needle.charCodeAt(0);
    for (let length = Math.min(needle.length - 1, text.length); length > longest; length--) {
      const at = text.length - length;
      if (text.charCodeAt(at) === first && needle.startsWith(text.slice(at))) longest = length;
    }
  }
  return longest;
}

/** Characters that are replaced before the text is made lower case. */
const SIGNS = ["+", "İ", "Σ", "ς"];
const LINE_ENDS = ["\r", "\n", "\t"];

/**
 * A text of the same length in which plus signs are spaces, as in forms, İ is one unit in lower case, too, and sigma is the
 * same at the end of a word. As "one line", line ends are spaces as well.
 */
function normalized(text: string, as: "one line" | "lines"): string {
  const units = new Uint16Array(text.length);
  let allBits = 0;
  for (let index = 0; index < text.length; index++) {
    const code = normalizedUnit(text.charCodeAt(index), as);
    units[index] = code;
    allBits |= code;
  }
  return textOfUnits(units, allBits);
}

function normalizedUnit(code: number, as: "one line" | "lines"): number {
  if (code === 0x2b) return 0x20;
  if (code < 0x20)
    return as === "one line" && (code === 0x09 || code === 0x0a || code === 0x0d) ? 0x20 : code;
  if (code === 0x130) return 0x69;
  return code === 0x3a3 || code === 0x3c2 ? 0x3c3 : code;
}

const LINE_END = /[\r\n]/;

/** The most units of a character that is escaped twice. A third time is left out: it would only be padding. */
const WIDEST_CHARACTER = WIDEST_ESCAPE ** 2;

/** All forms of the secrets, the shortest first. */
function needles(
  secrets: readonly string[],
  formsOf: (text: string) => readonly string[],
): readonly Needle[] {
  return secrets
    .flatMap((secret) => [...new Set(formsOf(secret))].map((text) => ({ text, secret })))
    .sort((a, b) => a.text.length - b.text.length);
}

/** A lone surrogate becomes another character in transit, and a line end may become two characters. */
function variants(text: string): readonly string[] {
  const whole = text.toWellFormed();
  return [
    text,
    whole,
    ...(LINE_END.test(text) ? [whole.replaceAll(/\r?\n/g, "\r\n"), whole.replaceAll("\r\n", "\n")] : []),
  ];
}

/** The bytes of a text in the usual encodings. */
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

/** Hex without separators, and with the usual ones. */
function hexForms(bytes: Buffer): readonly string[] {
  const pairs = bytes.toString("hex").match(/../g) ?? [];
  return ["", ":", " "].map((between) => pairs.join(between));
}

/**
 * The base64 of the bytes alone, and the characters that depend on them alone at each offset in a longer text:
 * `Authorization: Basic` carries a password after a user name and a colon.
 */
function base64Forms(bytes: Buffer): readonly string[] {
  const whole = bytes.toString("base64");
  const parts = [0, 1, 2].map((offset) => {
    const shifted = Buffer.concat([Buffer.alloc(offset), bytes]);
    // Six bits a character: only the characters without a bit of a neighbouring byte.
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

/** Overlapping occurrences, as of "aaaa" in "aaaaa", count as one. */
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
    found.push({ start: positionInOriginal(level, start), end: positionInOriginal(level, end), secret });
    start = next;
  }
}
