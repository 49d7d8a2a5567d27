/** The characters of the fonts that every PDF reader has: those of Windows-1252. */
const STANDARD: ReadonlySet<number> = new Set(
  Array.from(
    "\u20ac\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u017d\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u017e\u0178",
    (character) => character.charCodeAt(0),
  ),
);

export function isStandardCharacter(codePoint: number): boolean {
  return (
    (codePoint >= 0x20 && codePoint < 0x7f) ||
    (codePoint >= 0xa0 && codePoint <= 0xff) ||
    STANDARD.has(codePoint)
  );
}

/** Replacements that look the same, in characters that every font has. */
const SUBSTITUTES: readonly (readonly [RegExp, string])[] = [
  [/[\u2010\u2011\u2012\u2015\u2212]/g, "-"],
  [/[\u2000-\u200a\u202f\u205f\u3000]/g, " "],
  [/[\u200b\u00ad\ufeff]/g, ""],
  [/\u2192/g, "->"],
  [/\t/g, "    "],
];

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

/** Restricts texts to the characters that a font has, and counts those that it replaced. */
export class PrintableText {
  readonly #has: (codePoint: number) => boolean;
  replaced = 0;

  constructor(has: (codePoint: number) => boolean) {
    this.#has = has;
  }

  of(text: string): string {
    const composed = text.normalize("NFC").replace(/\r\n?/g, "\n");
    if (this.#isPrintable(composed)) return composed;
    const simple = SUBSTITUTES.reduce((result, [from, to]) => result.replace(from, to), composed);
    return Array.from(graphemes.segment(simple), ({ segment }) => this.#printable(segment)).join("");
  }

  /** One visible character becomes one question mark, however many code points it has. */
  #printable(character: string): string {
    if (this.#isPrintable(character)) return character;
    this.replaced++;
    return "?";
  }

  #isPrintable(text: string): boolean {
    return Array.from(text).every((each) => each === "\n" || this.#has(each.codePointAt(0) ?? 0));
  }
}
