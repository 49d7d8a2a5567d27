import { stripVTControlCharacters } from "node:util";

const MAX_CHARACTERS = 300;

/** Characters that are searched for secrets: patterns take time, and the text is untrusted. */
const MOST_READ = 2_000;

/** The word after a mark. The full stop or bracket that ends a sentence is not part of a key. */
function wordAfter(mark: RegExp, condition = ""): RegExp {
  return new RegExp(`(?<=${mark.source})${condition}[^\\s"',;]*[^\\s"',;.:!?)\\]}>]`, "gi");
}

/** Not an address, and with a digit or longer than a word: "API key: https://…" and "bearer authentication" stay readable. */
const LIKE_A_KEY = /(?!https?:\/\/)(?=[^\s"',;]*[\d*]|[^\s"',;]{16})/.source;

/** What keys look like in messages of providers and their libraries: some quote the header or the URL that they got. */
const SECRETS: readonly RegExp[] = [
  wordAfter(
    /\b(?:api[-_ ]?key|authorization)["']?\s*(?:provided\s*[:=]|=|:\s*["'])\s*["']?(?:(?:Bearer|Basic|Token)\s+)?/,
  ),
  wordAfter(/\bauthorization:\s*(?:Bearer|Basic|Token)\s+/),
  wordAfter(/\b(?:(?:api[-_ ]?key|authorization)\s*:|Bearer)\s*/, LIKE_A_KEY),
  /\b(?:sk|pk|rk|xai|gsk|hf|vck)[-_][\w*.-]{7,}[\w*-]/g,
  /\bAIza[\w-]{10,}/g,
  /\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g,
  /(?<=[?&](?:api[-_]?key|key|token|access_token|signature)=)[^&\s"']+/gi,
];

/** Text of unknown origin, for the middle of a message: one line, without secrets, not too long, without its full stop. */
export function readableText(text: string): string {
  const line = stripVTControlCharacters(text.slice(0, MOST_READ)).replaceAll(/\s+/g, " ").trim();
  const clean = SECRETS.reduce((safe, secret) => safe.replaceAll(secret, "[redacted]"), line).toWellFormed();
  const short = clean.length > MAX_CHARACTERS ? `${clean.slice(0, MAX_CHARACTERS)}…` : clean;
  return short.replace(/[.\s]+$/, "");
}
