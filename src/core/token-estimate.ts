import type { Message } from "./message.ts";

/** Counts the tokens of a text, roughly. Providers count for themselves; this is for reserving and truncating. */
export type TokenEstimator = (text: string) => number;

/** Weights are whole numbers, so that their sums are exact: 168 (3 · 7 · 8) make a token. */
const TOKEN = 168;
const SPACE = 0;
/** Six make a token. Negative, so that the sign changes where a word meets punctuation. */
const PUNCTUATION = -28;
/** Of scripts without a line below, three characters make a token: rather too many tokens than too few. */
const UNLISTED = 56;

/** What each UTF-16 unit weighs. Fitted to the library tokenx, whose regular expressions took ten times as long. */
const WEIGHTS = new Int16Array(0x10000).fill(UNLISTED);
const RANGES = [
  [0x0000, 0x007f, 24], // capitals, apostrophes, control characters: seven make a token
  [0x0061, 0x007a, 21], // a to z: eight
  [0x0030, 0x0039, 56], // 0 to 9: three
  [0x00c0, 0x00ff, 110], // Latin letters with diacritics split the words they are in: French ones,
  [0x0100, 0x024f, 240], // and Slavic ones
  [0x0400, 0x052f, 28], // Cyrillic: six make a token
  [0x1100, 0x11ff, 102], // Hangul, here and below: 1.65
  [0x2e80, 0x9fff, 140], // Han: 1.2
  [0x3001, 0x301f, 205], // Han punctuation: it ends a run of characters, which rounds up
  [0x3040, 0x30ff, 124], // Kana: 1.35
  [0x3130, 0x318f, 102],
  [0xa960, 0xa97f, 102],
  [0xac00, 0xd7ff, 102],
  [0xd800, 0xdfff, 93], // half of a surrogate pair: an emoji is a token and a bit
  [0xf900, 0xfaff, 140],
  [0xff00, 0xffef, 140], // full-width forms
  [0xff01, 0xff0f, 205],
  [0xff1a, 0xff20, 205],
] as const;
for (const [first, last, weight] of RANGES) WEIGHTS.fill(weight, first, last + 1);
weigh("äöüßÄÖÜẞ", 250);
weigh('.,!?;(){}[]<>:/\\|@#$%^&*+=`~_"-', PUNCTUATION);
weigh("\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a", SPACE);
weigh("\u2028\u2029\u202f\u205f\u3000\ufeff", SPACE);

function weigh(characters: string, weight: number): void {
  for (let i = 0; i < characters.length; i++) WEIGHTS[characters.charCodeAt(i)] = weight;
}

/** One pass over the text, a run of letters or of punctuation at a time; each run is a whole number of tokens. */
export const estimateTokens: TokenEstimator = (text) => {
  let tokens = 0;
  let run = 0;
  let afterPunctuation = false;
  let lineBreak = -1;
  const { length } = text;
  for (let i = 0; i < length; i++) {
    // From the prototype: `text.charCodeAt` is looked up by the kind of string (flat, joined, sliced, of one or two
    // bytes), and a function that has met five kinds runs at a quarter of its speed from then on.
    const code = String.prototype.charCodeAt.call(text, i);
    const weight = WEIGHTS[code] ?? UNLISTED;
    if (weight > 0 ? run > 0 : weight < 0 && run < 0) {
      run += weight;
      continue;
    }
    if (run !== 0) {
      tokens += Math.ceil(Math.abs(run) / TOKEN);
      afterPunctuation = run < 0;
    }
    if (weight === SPACE) {
      if (lineBreak === -1 && code === 0x0a) lineBreak = i;
    } else if (lineBreak !== -1) {
      // Spaces go with the word after them, and a line break with punctuation before it. A line break is a token
      // of its own elsewhere, and where an empty line or indentation follows it.
      if (lineBreak < i - 1 || !afterPunctuation) tokens++;
      lineBreak = -1;
    }
    run = weight;
  }
  tokens += Math.ceil(Math.abs(run) / TOKEN);
  return length === 0 ? 0 : Math.max(1, tokens);
};

/**
 * An estimator of the user's that always has an answer: rounded up to whole tokens, and where it throws or gives none,
 * the built-in one. It is asked after a tool had its effect too, and must not be what loses the receipt.
 */
export function dependable(estimate: TokenEstimator): TokenEstimator {
  return (text) => {
    try {
      const tokens = Math.ceil(estimate(text));
      if (Number.isSafeInteger(tokens) && tokens >= 0) return tokens;
    } catch {
      // Falls through to the built-in one.
    }
    return estimateTokens(text);
  };
}

/** What a provider adds around each message (role, separators); the usual figure is 3 to 4. */
const TOKENS_PER_MESSAGE = 4;

export function estimateMessageTokens(message: Message, estimate: TokenEstimator = estimateTokens): number {
  const text = typeof message.content === "string" ? message.content : JSON.stringify(message.content);
  return TOKENS_PER_MESSAGE + estimate(text);
}

/** What stands around a result in its message: its role, its kind, the names of its call and tool. */
const TOKENS_AROUND_RESULT = 24;

/** Of a tool's result as a message, by the JSON of its value. */
export function estimateResultTokens(text: string, estimate: TokenEstimator): number {
  return TOKENS_AROUND_RESULT + estimate(text);
}
