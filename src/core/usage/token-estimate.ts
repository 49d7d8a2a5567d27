import { isJsonList, isJsonObject, type Json } from "../json.ts";
import type { FileReference, Message, ToolOutput, UserTextPart } from "../message.ts";
import { isTextType } from "./said-file.ts";
import { type ModelName, TOKENS_PER_HUNDRED, tokenFamily } from "./token-family.ts";

/** Estimates the tokens of a text. Providers count for themselves; this is for reserving and truncating. */
export type TextEstimator = (text: string) => number;

/**
 * The same, for a model. There is no model if the text is the result of a call that a code step made.
 *
 * @example
 * new Runner(pipeline, { estimateTokens: (text, model) => (model?.provider === "anthropic.messages" ? text.length / 3 : text.length / 4) });
 */
export type TokenEstimator = (text: string, model?: ModelName) => number;

/** Weights are whole numbers, so that their sums are exact: a weight of 168 (3 · 7 · 8) is one token. */
const TOKEN = 168;
const SPACE = 0;
/** White space belongs to the word after it. A longer run costs one token per 32, so that megabytes of it are not free. */
const SPACES_PER_TOKEN = 32;
/** Six make a token. Negative, so that the sign changes where a word meets punctuation. */
const PUNCTUATION = -28;
/** In scripts that are not listed below, three characters make a token: too many tokens are better than too few. */
const UNLISTED = 56;

/** The weight of each UTF-16 unit. Fitted to the library tokenx, whose regular expressions took ten times as long. */
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

/** One pass over the text, one run of letters or of punctuation at a time; each run is a whole number of tokens. */
function baseTokens(text: string): number {
  let tokens = 0;
  let run = 0;
  let spaces = 0;
  let afterPunctuation = false;
  let lineBreak = -1;
  const { length } = text;
  for (let i = 0; i < length; i++) {
    // From the prototype: `text.charCodeAt` is looked up by the kind of string (flat, joined, sliced, one-byte, two-byte),
    // and a function that has seen five kinds runs at a quarter of its speed from then on.
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
      if (++spaces === SPACES_PER_TOKEN) {
        tokens++;
        spaces = 0;
      }
    } else {
      spaces = 0;
      // Spaces belong to the word after them, and a line break to the punctuation before it. Any other line break is a
      // token of its own, and so is one that is followed by an empty line or indentation.
      if (lineBreak !== -1 && (lineBreak < i - 1 || !afterPunctuation)) tokens++;
      lineBreak = -1;
    }
    run = weight;
  }
  tokens += Math.ceil(Math.abs(run) / TOKEN);
  return length === 0 ? 0 : Math.max(1, tokens);
}

/** The built-in estimator: by the text and the family of the model. */
export const estimateTokens: TokenEstimator = (text, model) => {
  const tokens = baseTokens(text);
  return model === undefined ? tokens : Math.ceil((tokens * TOKENS_PER_HUNDRED[tokenFamily(model)]) / 100);
};

/**
 * The user's estimator, rounded up to whole tokens; if it throws or returns no number, the built-in one. It also runs after
 * a tool had its effect, where an error would lose the receipt.
 */
export function withBuiltInFallback(estimate: TokenEstimator): TokenEstimator {
  return (text, model) => {
    try {
      const tokens = Math.ceil(estimate(text, model));
      if (Number.isSafeInteger(tokens) && tokens >= 0) return tokens;
    } catch {
      // Falls back to the built-in one.
    }
    return estimateTokens(text, model);
  };
}

/** Passes on only the name of the model: the rest of the object is not the estimator's business. */
export function estimatorFor(estimate: TokenEstimator, { provider, modelId }: ModelName): TextEstimator {
  const model = { provider, modelId };
  return (text) => estimate(text, model);
}

/** The tokens that a provider adds to each message (role, separators); usually 3 to 4. */
const TOKENS_PER_MESSAGE = 4;

export function estimateMessageTokens(message: Message, estimate: TextEstimator = estimateTokens): number {
  if (message.role === "user" && typeof message.content !== "string")
    return message.content.reduce(
      (sum, part) => sum + estimateSaidTokens(part, estimate),
      TOKENS_PER_MESSAGE,
    );
  const text = typeof message.content === "string" ? message.content : JSON.stringify(message.content);
  return TOKENS_PER_MESSAGE + estimate(text);
}

/** A file counts like one in a tool result, by its type and its size: its bytes are not read for this. */
function estimateSaidTokens(part: UserTextPart | FileReference, estimate: TextEstimator): number {
  if (part.type === "text") return estimate(part.text);
  const length = Math.ceil(part.size / 3) * 4;
  return isTextType(part.mediaType)
    ? Math.ceil(length / CHARACTERS_PER_TEXT_TOKEN)
    : fileTokens(part.mediaType, length);
}

/** The tokens around a result in its message: its role, its type, the names of its call and tool. */
export const TOKENS_AROUND_RESULT = 24;

/** The tokens of a tool result as a message. `text` is the JSON of its value. */
export function estimateResultTokens(
  { type, value }: ToolOutput,
  text: string,
  estimate: TextEstimator,
): number {
  if (type !== "content" || !isJsonList(value)) return TOKENS_AROUND_RESULT + estimate(text);
  return value.reduce<number>((sum, part) => sum + estimatePartTokens(part, estimate), TOKENS_AROUND_RESULT);
}

/** The most that large providers count for one image, whatever its size; also used for a file given by its address. */
const TOKENS_PER_PICTURE = 1_600;
/** Some providers refuse a larger image (in characters of base64); it counts like any other file. */
const LARGEST_PICTURE = 5_000_000;
/** For other files, in characters of base64: a PDF of some 70,000 bytes a page has 3,000 tokens a page. */
const CHARACTERS_PER_FILE_TOKEN = 32;
/** The same, for a text that a user sends as a file: three of its bytes are a token. */
const CHARACTERS_PER_TEXT_TOKEN = 4;

/** The tokens of a file by its type and the length of its base64. */
function fileTokens(kind: unknown, length: number): number {
  const isPicture = typeof kind === "string" && kind.startsWith("image");
  if (isPicture && length <= LARGEST_PICTURE) return TOKENS_PER_PICTURE;
  return Math.max(TOKENS_PER_PICTURE, Math.ceil(length / CHARACTERS_PER_FILE_TOKEN));
}

/** The tokens of one part of a result with several: a text, or a file, whose base64 the model does not read. */
export function estimatePartTokens(part: Json, estimate: TextEstimator): number {
  if (!isJsonObject(part)) return estimate(JSON.stringify(part));
  if (typeof part.text === "string") return estimate(part.text);
  const { type, data, mediaType } = part;
  const content = isJsonObject(data) ? data : { data: data ?? null };
  if (typeof content.text === "string") return estimate(content.text);
  if (typeof content.data !== "string")
    return type === "file" ? TOKENS_PER_PICTURE : estimate(JSON.stringify(part));
  return fileTokens(typeof mediaType === "string" ? mediaType : type, content.data.length);
}
