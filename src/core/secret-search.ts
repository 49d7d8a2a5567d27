import { type DecodedText, decodedOnce } from "./escaped-text.ts";

/** Shorter texts are not looked for inside others: "12" or "abc" would shred every text they happen to be part of. */
const MIN_SEARCHED_LENGTH = 4;

/** Shorter ones count as they are written only: "Test" is a word, whatever "test" may be. */
const MIN_ANY_CASE_LENGTH = 8;

/** A part of a base64 text shorter than this may well be part of something else. */
const MIN_BASE64_PART_LENGTH = 8;

/** JSON in JSON in JSON, an address in an address: as often is a text decoded. */
const MOST_DECODINGS = 3;

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
  /** Looked for in any case of letters. */
  readonly #anyCase: readonly Needle[];
  readonly #exact: readonly Needle[];
  readonly #base64: readonly Needle[];
  /** The most characters that one of them may take in a text: so much of a torn end may be a part of one. */
  readonly longest: number;

  constructor(texts: Iterable<string>) {
    const secrets = [...new Set([...texts].map((text) => text.trim()))];
    const searched = secrets.filter((text) => text.length >= MIN_SEARCHED_LENGTH);
    const [long, short] = [
      searched.filter((text) => text.length >= MIN_ANY_CASE_LENGTH),
      searched.filter((text) => text.length < MIN_ANY_CASE_LENGTH),
    ];
    this.#anyCase = [
      ...needles(long, (text) => variants(text).map(folded)),
      ...needles(searched, (text) => [bytesOf(text).toString("hex")]),
    ];
    this.#exact = needles(short, (text) => variants(text).map(spaced));
    this.#base64 = needles(searched, (text) => [
      ...base64Forms(bytesOf(text)),
      ...base64Forms(Buffer.from(text, "utf16le")),
      ...base64Forms(Buffer.from(text, "utf16le").swap16()),
    ]);
    this.longest = Math.max(0, ...searched.map(({ length }) => length)) * WIDEST_CHARACTER;
  }

  get isEmpty(): boolean {
    return this.#base64.length === 0;
  }

  /** All of them, also those that overlap, in no order. */
  find(text: string): readonly FoundSecret[] {
    const found: FoundSecret[] = [];
    if (this.isEmpty || text.length < MIN_SEARCHED_LENGTH) return found;
    let level: DecodedText | null = { text, at: null };
    for (let n = 0; level !== null && n <= MOST_DECODINGS; n++) {
      const { at } = level;
      const place = at === null ? (index: number) => index : (index: number) => at[index] ?? text.length;
      for (const [haystack, sought] of [
        [folded(level.text), this.#anyCase],
        [spaced(level.text), this.#exact],
        [level.text, this.#base64],
      ] as const)
        for (const needle of sought) collect(haystack, needle, place, found);
      level = decodedOnce(level);
    }
    return found;
  }
}

/** Of a character in all spellings that are looked for: an escape of JSON (`\u0041`) whose backslash is one of four. */
const WIDEST_CHARACTER = 16;

function needles(
  secrets: readonly string[],
  formsOf: (text: string) => readonly string[],
): readonly Needle[] {
  return secrets.flatMap((secret) => [...new Set(formsOf(secret))].map((text) => ({ text, secret })));
}

/** Half a character becomes another one on its way. */
function variants(text: string): readonly string[] {
  return [text, text.toWellFormed()];
}

function bytesOf(text: string): Buffer {
  return Buffer.from(text.toWellFormed(), "utf8");
}

/** Forms write a blank as a plus sign. */
function spaced(text: string): string {
  return text.includes("+") ? text.replaceAll("+", " ") : text;
}

/** In small letters, and exactly as long as before. */
function folded(text: string): string {
  const lower = spaced(text).toLowerCase();
  if (lower.length === text.length) return lower;
  return spaced(text).replaceAll(/\p{Lu}/gu, (letter) => {
    const small = letter.toLowerCase();
    return small.length === letter.length ? small : letter;
  });
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
  place: (index: number) => number,
  found: FoundSecret[],
): void {
  let start = text.indexOf(needle);
  while (start !== -1) {
    let end = start + needle.length;
    let next = text.indexOf(needle, start + 1);
    for (; next !== -1 && next < end; next = text.indexOf(needle, next + 1)) end = next + needle.length;
    found.push({ start: place(start), end: place(end), secret });
    start = next;
  }
}
