/** A page that a run has fetched: its address, and its content as text, Markdown or HTML. */
export type CitedSource = { readonly url: string; readonly text: string };

export type CitationCheck = {
  /** Addresses of sources that the report copies words from and does not cite, as they were given. */
  readonly uncited: readonly string[];
  /** Addresses in the report that were never fetched, as they are written there. */
  readonly unfetched: readonly string[];
  /** Sources were fetched, and the report cites none of them. */
  readonly citesNothing: boolean;
};

/**
 * The rule behind `mustCiteSources`. A source is cited if its http or https address occurs in the report: in the text, in
 * Markdown, or in the `href` of a link. It is used if the report shares eight words in a row with it. That finds copied
 * text, not paraphrases: so a report that cites nothing at all is reported, too. The time is linear in the length of the
 * texts.
 *
 * @example
 * checkCitations("See https://example.com/a.", [{ url: "https://example.com/a", text: "" }]);
 * // { uncited: [], unfetched: [], citesNothing: false }
 */
export function checkCitations(report: string, sources: readonly CitedSource[]): CitationCheck {
  const { words, urls } = readText(report);
  const cited = byAddress(urls);
  const fetched = byAddress(sources.map(({ url }) => url));
  const passages = new Passages(words);
  const used = sources.filter(
    ({ url, text }) => !cited.has(addressOf(url)) && passages.areSharedWith(readText(text).words),
  );
  return {
    uncited: [...byAddress(used.map(({ url }) => url)).values()],
    unfetched: [...cited].filter(([address]) => !fetched.has(address)).map(([, url]) => url),
    citesNothing: fetched.size > 0 && ![...fetched.keys()].some((address) => cited.has(address)),
  };
}

/** Each address once, in its first spelling. */
function byAddress(urls: readonly string[]): ReadonlyMap<string, string> {
  const first = new Map<string, string>();
  for (const url of urls) {
    const address = addressOf(url);
    if (!first.has(address)) first.set(address, url);
  }
  return first;
}

/** Characters that `encodeURIComponent` leaves alone mean the same when they are encoded anyway. */
const NEEDLESSLY_ENCODED = /^[\w!~*'().-]$/;

/** The form in which addresses are compared: as the URL parser spells them, without the fragment, which is never sent. */
function addressOf(url: string): string {
  const parsed = URL.parse(url);
  if (parsed === null) return url;
  parsed.hash = "";
  return parsed.href.replace(/%[\da-f]{2}/gi, (code) => {
    const character = String.fromCharCode(Number.parseInt(code.slice(1), 16));
    return NEEDLESSLY_ENCODED.test(character) ? character : code.toUpperCase();
  });
}

/** The words that a reader sees, and the addresses of the links. */
function readText(source: string): { readonly words: readonly string[]; readonly urls: readonly string[] } {
  const { text, links } = withoutMarkup(source);
  const { rest, urls } = withoutUrls(text);
  return { words: wordsOf(rest), urls: [...urls, ...links] };
}

/** No part of it matches past the next `<`, so that no text takes long. */
const MARKUP = /<!--|<!doctype[^<>]*>|<(\/?)([a-z][a-z0-9-]*)(?=[\s/>])([^<>]*)>/gi;

/** Tags that may occur inside a word; all others end it. */
const INLINE = /^(?:a|abbr|b|cite|code|em|font|i|ins|mark|q|s|small|span|strong|sub|sup|u|wbr)$/i;

const HREF = /\shref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"']+))/i;

function withoutMarkup(source: string): { readonly text: string; readonly links: readonly string[] } {
  const links: string[] = [];
  const texts: string[] = [];
  const unclosed = new Set<string>();
  let end = 0;
  for (const match of source.matchAll(MARKUP)) {
    if (match.index < end) continue;
    const [tag, slash, name = "", attributes = ""] = match;
    texts.push(source.slice(end, match.index), INLINE.test(name) ? "" : " ");
    end = match.index + tag.length;
    const closing = tag === "<!--" ? "-->" : slash === "" ? CLOSING.get(name.toLowerCase()) : undefined;
    if (closing !== undefined) end = endOfHidden(source, end, closing, unclosed);
    if (/^(?:a|area)$/i.test(name)) {
      const [, double, single, bare] = HREF.exec(attributes) ?? [];
      const url = withoutEntities(double ?? single ?? bare ?? "").trim();
      if (/^https?:\/\/./i.test(url)) links.push(url);
    }
  }
  texts.push(source.slice(end));
  return { text: withoutEntities(texts.join("")), links };
}

/** Elements whose content is not shown, each with the text that ends it. */
const CLOSING: ReadonlyMap<string, string> = new Map([
  ["script", "</script"],
  ["style", "</style"],
]);

/** An element that is never closed hides nothing, and its end is not searched for a second time. */
function endOfHidden(source: string, from: number, closing: string, unclosed: Set<string>): number {
  if (unclosed.has(closing)) return from;
  const pattern = new RegExp(closing, "gi");
  pattern.lastIndex = from;
  const found = pattern.exec(source);
  if (found === null) unclosed.add(closing);
  return found === null ? from : found.index + (closing === "-->" ? closing.length : 0);
}

const ENTITY = /&(?:#(\d{1,7})|#x([\da-f]{1,6})|(amp|lt|gt|quot|apos|nbsp));/gi;

const NAMED_ENTITIES: ReadonlyMap<string, string> = new Map([
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
  ["apos", "'"],
  ["nbsp", " "],
]);

function withoutEntities(text: string): string {
  return text.replace(ENTITY, (entity, decimal?: string, hexadecimal?: string, name = "") => {
    const named = NAMED_ENTITIES.get(String(name).toLowerCase());
    if (named !== undefined) return named;
    const code = decimal === undefined ? Number.parseInt(hexadecimal ?? "", 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : entity;
  });
}

/** Takes the addresses out of a text, so that they do not separate its words. */
function withoutUrls(text: string): { readonly rest: string; readonly urls: readonly string[] } {
  const urls: string[] = [];
  const rest: string[] = [];
  const start = /https?:\/\//gi;
  let end = 0;
  for (let match = start.exec(text); match !== null; match = start.exec(text)) {
    rest.push(text.slice(end, match.index));
    const found = urlAt(text, match.index, start.lastIndex);
    if (found.url.length > match[0].length) urls.push(found.url);
    end = found.end;
    start.lastIndex = end;
  }
  rest.push(text.slice(end));
  return { rest: rest.join(""), urls };
}

/** Characters that end an address: white space, quotes, and the punctuation of scripts that put no space after it. */
const AFTER_URL = /[\s\p{Cc}<>"`{}|^“”„«»\u3000-\u303f\uff00-\uffef]/u;

/** Characters of addresses that Markdown lets one escape with a backslash. */
const ESCAPED = /[_*~#&+.!-]/;

/** The address at `start`, whose `https://` ends at `from`. One pass; the character before it and open brackets decide its end. */
function urlAt(text: string, start: number, from: number): { readonly url: string; readonly end: number } {
  const before = text[start - 1] ?? "";
  let url = text.slice(start, from);
  const open = { "(": 0, "[": 0 };
  let at = from;
  for (; at < text.length; at++) {
    let character = text.charAt(at);
    if (character === "\\" && ESCAPED.test(text.charAt(at + 1))) character = text.charAt(++at);
    else if (character === "\\" || AFTER_URL.test(character)) break;
    if (character === "'" && before === "'") break;
    if ((character === "," || character === ";") && text.startsWith("http", at + 1)) break;
    if (character === "(" || character === "[") open[character]++;
    if (character === ")" && --open["("] < 0) break;
    if (character === "]" && --open["["] < 0) break;
    url += character;
  }
  return { url: withoutPunctuation(url, before), end: at };
}

/** The end of a sentence or of an emphasis is not part of an address; an underscore is, unless one precedes it, too. */
function withoutPunctuation(url: string, before: string): string {
  const ending = before === "_" ? ".,;:!?'’…*~_" : ".,;:!?'’…*~";
  let end = url.length;
  while (end > 0 && ending.includes(url.charAt(end - 1))) end--;
  return url.slice(0, end);
}

/** In scripts without spaces between words, each character counts as a word. */
const CHARACTER = "[\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}]";
const WORD = new RegExp(`${CHARACTER}|(?:(?!${CHARACTER})[\\p{L}\\p{M}\\p{N}])+`, "gu");

/** Soft hyphens and the like, and the target of a Markdown link. */
const NOT_SEEN = /[\u00ad\u200b-\u200d\u2060\ufeff]|(?<=\])\([^()\n]*\)/g;

function wordsOf(text: string): readonly string[] {
  return text.replace(NOT_SEEN, "").normalize("NFKC").toLowerCase().match(WORD) ?? [];
}

/** More words than a text can have, and few enough that two of these numbers fit into one safe integer. */
const MAX_NUMBERS = 2 ** 26;

/**
 * All sequences of eight words in a text. Each pair of adjacent words has a number, so has each pair of such pairs, and each
 * pair of those: eight words take three exact look-ups, without hash collisions.
 */
class Passages {
  readonly #words = new Map<string, number>();
  readonly #twos = new Map<number, number>();
  readonly #fours = new Map<number, number>();
  readonly #eights = new Map<number, number>();

  constructor(words: readonly string[]) {
    for (const word of words) {
      if (!this.#words.has(word)) this.#words.set(word, this.#words.size + 1);
    }
    this.#numbersOf(words, learn);
  }

  areSharedWith(words: readonly string[]): boolean {
    return this.#numbersOf(words, lookUp).some((number) => number !== 0);
  }

  #numbersOf(words: readonly string[], find: typeof lookUp): readonly number[] {
    const ones = words.map((word) => this.#words.get(word) ?? 0);
    const twos = pairsOf(ones, 1, (pair) => find(this.#twos, pair));
    const fours = pairsOf(twos, 2, (pair) => find(this.#fours, pair));
    return pairsOf(fours, 4, (pair) => find(this.#eights, pair));
  }
}

/** Zero for an unknown pair; a pair with a zero in it is never known. */
function lookUp(numbers: Map<number, number>, pair: number): number {
  return numbers.get(pair) ?? 0;
}

function learn(numbers: Map<number, number>, pair: number): number {
  const known = numbers.get(pair) ?? numbers.size + 1;
  numbers.set(pair, known);
  return known;
}

function pairsOf(
  numbers: readonly number[],
  distance: number,
  numberOf: (pair: number) => number,
): readonly number[] {
  const pairs: number[] = [];
  for (let index = 0; index + distance < numbers.length; index++) {
    pairs.push(numberOf((numbers[index] ?? 0) * MAX_NUMBERS + (numbers[index + distance] ?? 0)));
  }
  return pairs;
}
