/** The HTML entity names of the characters on a keyboard. */
const KEYBOARD = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  tab: "\t",
  newline: "\n",
  excl: "!",
  num: "#",
  dollar: "$",
  percnt: "%",
  lpar: "(",
  rpar: ")",
  ast: "*",
  midast: "*",
  plus: "+",
  comma: ",",
  period: ".",
  sol: "/",
  colon: ":",
  semi: ";",
  equals: "=",
  quest: "?",
  commat: "@",
  lsqb: "[",
  lbrack: "[",
  bsol: "\\",
  rsqb: "]",
  rbrack: "]",
  hat: "^",
  lowbar: "_",
  underbar: "_",
  grave: "`",
  lcub: "{",
  lbrace: "{",
  vert: "|",
  verbar: "|",
  rcub: "}",
  rbrace: "}",
  hyphen: "\u2010",
  dash: "\u2010",
  ndash: "\u2013",
  mdash: "\u2014",
  lsquo: "\u2018",
  rsquo: "\u2019",
  ldquo: "\u201c",
  rdquo: "\u201d",
  euro: "\u20ac",
};

/** The entity names of the Latin-1 characters from U+00A1, in order. */
const LATIN_1 =
  "iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml";

const CODES: ReadonlyMap<string, number> = new Map([
  ...LATIN_1.split(" ").map((name, index) => [name, 0xa1 + index] as const),
  ...Object.entries(KEYBOARD).map(([name, character]) => [name, character.charCodeAt(0)] as const),
  // A space like any other, for the search.
  ["nbsp", 0x20],
]);

export const LONGEST_ENTITY_NAME = Math.max(...[...CODES.keys()].map(({ length }) => length));

/** The character of `&name;`; in lower case if the name has no meaning as written. */
export function entityCode(name: string): number | undefined {
  return CODES.get(name) ?? CODES.get(name.toLowerCase());
}
