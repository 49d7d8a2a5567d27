/** A text, and where each of its units begins in the text that it was decoded from; null: it is that text itself. */
export type DecodedText = { readonly text: string; readonly at: Uint32Array | null };

/**
 * An escape as addresses (`%41`), code and JSON (`\u0041`, `\u{41}`, `\x41`, `\n`) and HTML (`&#65;`, `&#x41;`, `&amp;`) have
 * it. Bytes come in runs, since several may be one character.
 */
const ESCAPE =
  /(?:%[0-9a-f]{2})+|(?:\\x[0-9a-f]{2})+|\\u(?:([0-9a-f]{4})|\{([0-9a-f]{1,6})\})|\\(["'\\/bfnrtv0])|&#(?:(\d{1,7})|x([0-9a-f]{1,6}));?|&([a-z]{2,8});/gi;

const CONTROLS: { readonly [letter: string]: string } = {
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  0: "\0",
};

/** The names of HTML for what a keyboard writes. */
const ENTITIES: ReadonlyMap<string, string> = new Map([
  ...Object.entries({
    amp: "&",
    lt: "<",
    gt: ">",
    quot: '"',
    apos: "'",
    nbsp: " ",
    tab: "\t",
    newline: "\n",
  }),
  ...Object.entries({
    excl: "!",
    num: "#",
    dollar: "$",
    percnt: "%",
    lpar: "(",
    rpar: ")",
    ast: "*",
    plus: "+",
  }),
  ...Object.entries({ comma: ",", period: ".", sol: "/", colon: ":", semi: ";", equals: "=", quest: "?" }),
  ...Object.entries({ commat: "@", lsqb: "[", lbrack: "[", bsol: "\\", rsqb: "]", rbrack: "]", hat: "^" }),
  ...Object.entries({
    lowbar: "_",
    underbar: "_",
    grave: "`",
    lcub: "{",
    lbrace: "{",
    vert: "|",
    verbar: "|",
  }),
  ...Object.entries({ rcub: "}", rbrace: "}", hyphen: "-", dash: "-", midast: "*" }),
]);

/** The same text with its escapes decoded, once; null where it has none. It takes time by the length of the text alone. */
export function decodedOnce({ text, at }: DecodedText): DecodedText | null {
  if (!/[%\\&]/.test(text)) return null;
  const places = new Uint32Array(text.length + 1);
  const parts: string[] = [];
  let length = 0;
  let end = 0;
  const origin = (index: number) => (at === null ? index : (at[index] ?? 0));
  const keep = (until: number) => {
    if (until > end) parts.push(text.slice(end, until));
    for (; end < until; end++) places[length++] = origin(end);
  };
  for (const match of text.matchAll(ESCAPE)) {
    const characters = charactersOf(match);
    if (characters === null) continue;
    keep(match.index);
    for (const { character, from } of characters) {
      parts.push(character);
      for (let unit = 0; unit < character.length; unit++) places[length++] = origin(match.index + from);
    }
    end = match.index + match[0].length;
  }
  if (end === 0) return null;
  keep(text.length);
  places[length] = origin(text.length);
  return { text: parts.join(""), at: places.subarray(0, length + 1) };
}

/** What an escape stands for, and where in it each character begins; null where it is none. */
type Characters = readonly { readonly character: string; readonly from: number }[];

function charactersOf(match: RegExpExecArray): Characters | null {
  const [whole, unit, codePoint, letter, decimal, hex, name] = match;
  if (whole.startsWith("%")) return bytesOf(whole, 3);
  if (/^\\x/i.test(whole)) return bytesOf(whole, 4);
  if (unit !== undefined) return one(String.fromCharCode(Number.parseInt(unit, 16)));
  if (letter !== undefined) return one(CONTROLS[letter.toLowerCase()] ?? letter);
  if (name !== undefined) return one(ENTITIES.get(name.toLowerCase()));
  const code =
    decimal === undefined ? Number.parseInt(codePoint ?? hex ?? "", 16) : Number.parseInt(decimal, 10);
  return code <= 0x10ffff ? one(String.fromCodePoint(code)) : null;
}

function one(character: string | undefined): Characters | null {
  return character === undefined ? null : [{ character, from: 0 }];
}

/** Of a run of bytes, each written with so many characters: UTF-8 where they are that, and Latin-1 where not. */
function bytesOf(run: string, width: number): Characters {
  const bytes = Uint8Array.from({ length: run.length / width }, (_, index) =>
    Number.parseInt(run.slice((index + 1) * width - 2, (index + 1) * width), 16),
  );
  const characters: { character: string; from: number }[] = [];
  for (let index = 0; index < bytes.length; ) {
    const size = sizeAt(bytes, index);
    const part = bytes.subarray(index, index + size);
    const character = size === 1 ? String.fromCharCode(part[0] ?? 0) : Buffer.from(part).toString("utf8");
    characters.push({ character, from: index * width });
    index += size;
  }
  return characters;
}

/** How many bytes the character takes that begins here. */
function sizeAt(bytes: Uint8Array, index: number): number {
  const first = bytes[index] ?? 0;
  const size = first >= 0xf0 && first < 0xf5 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 1;
  if (size === 1 || first >= 0xf5) return 1;
  for (let next = index + 1; next < index + size; next++) if (((bytes[next] ?? 0) & 0xc0) !== 0x80) return 1;
  return size;
}
