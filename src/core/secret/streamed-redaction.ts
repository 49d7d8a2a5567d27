import { normaliseKeyName } from "../naming/key-name.ts";
import { type Hiding, namedPairsIn, normalNames, redactText } from "./redaction.ts";
import { marksIn } from "./secret-mark.ts";

/** Held back more than this, a text is not searched again for every few characters. */
const OFTEN_SEARCHED = 1_000;

/**
 * Hides the secrets of a text that comes in pieces, wherever it was cut. What may be the beginning of a secret is held back
 * until more comes, so all that is given out, put together, is what `redactText` makes of the whole. A secret that is learned
 * late is hidden only in what comes after it.
 *
 * @example
 * const shown = new StreamedRedaction(() => hiding); // the secret is "s-456"
 * shown.add("sent s-4"); // "sent "
 * shown.add("56 now"); // "[secret:5e2b1ddc3a07] now"
 * shown.end(); // ""
 */
export class StreamedRedaction {
  readonly #hiding: () => Hiding;
  #held = "";
  #searchedAgainAt = 0;

  constructor(hiding: () => Hiding) {
    this.#hiding = hiding;
  }

  /** What may be shown now. */
  add(piece: string): string {
    const hiding = this.#hiding();
    this.#held += piece;
    if (this.#held.length < this.#searchedAgainAt) return "";
    const end = safeEnd(this.#held, hiding);
    const safe = this.#held.slice(0, end);
    this.#held = this.#held.slice(end);
    const { length } = this.#held;
    // Else a value without an end would be searched as often as it has pieces.
    this.#searchedAgainAt = length < OFTEN_SEARCHED ? 0 : length * 1.25;
    return redactText(safe, hiding);
  }

  /** The rest: nothing more comes. */
  end(): string {
    const rest = this.#held;
    this.#held = "";
    this.#searchedAgainAt = 0;
    return redactText(rest, this.#hiding());
  }
}

/** The position up to which nothing that comes later can change what is hidden. */
function safeEnd(text: string, { names: given, search }: Hiding): number {
  const names = normalNames(given);
  if (names === null && search.isEmpty) return text.length;
  let end = Math.min(search.pendingFrom(text), unfinishedMark(text), unfinishedName(text, names));
  const spans = [...search.find(text), ...marksIn(text), ...namedPairsIn(text, given)];
  for (let before = -1; before !== end; ) {
    before = end;
    for (const span of spans) if (span.start < end && span.end > end) end = span.start;
    if (isInsidePair(text, end)) end -= 1;
  }
  return end;
}

/** Half of a character that has two units would be lost where texts are stored as bytes. */
function isInsidePair(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1);
  if (at === 0 || before < 0xd800 || before > 0xdbff) return false;
  const after = text.charCodeAt(at);
  return at === text.length || (after >= 0xdc00 && after <= 0xdfff);
}

function unfinishedMark(text: string): number {
  const at = text.lastIndexOf("[");
  return at !== -1 && /^\[[a-z0-9:,-]{0,60}$/.test(text.slice(at)) ? at : text.length;
}

/** The start of a name at the end of the text that may be followed by its value: `"pass`, `"password" :`, `?passw`. */
function unfinishedName(text: string, names: ReadonlySet<string> | null): number {
  if (names === null) return text.length;
  const [lastQuote, lastQuery] = [
    text.lastIndexOf('"'),
    Math.max(text.lastIndexOf("?"), text.lastIndexOf("&")),
  ];
  const firstQuote = lastQuote <= 0 ? -1 : text.lastIndexOf('"', lastQuote - 1);
  const starts = [lastQuery, lastQuote, firstQuote].filter(
    (at) => at !== -1 && mayBegin(text.slice(at + 1), names),
  );
  // The backslashes before a quote belong to it, and more of them may still make one.
  return withBackslashes(text, Math.min(text.length, ...starts));
}

function withBackslashes(text: string, at: number): number {
  let from = at;
  while (text[from - 1] === "\\") from--;
  return from;
}

function mayBegin(rest: string, names: ReadonlySet<string>): boolean {
  const [written = ""] = /^[^"\\=:?&]*/.exec(rest) ?? [];
  const name = normaliseKeyName(written);
  if (written.length === rest.length) return [...names].some((each) => each.startsWith(name));
  const isToBeFollowed = /^\\{0,3}"?[ \t\r\n]{0,40}:?[ \t\r\n]{0,40}$/.test(rest.slice(written.length));
  return isToBeFollowed && names.has(name);
}
