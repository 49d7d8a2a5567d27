/** Invisible characters: those that Unicode ignores when drawing or that change how the rest is drawn, and blank ones. */
const IGNORED = String.raw`\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u2800\ufff9-\ufffb`;

/** Scripts whose letters are joined, or kept apart, by an invisible character. */
const JOINING =
  "Arabic Syriac Mongolian Nko Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Khmer Myanmar Tibetan"
    .split(" ")
    .map((script) => String.raw`\p{Script=${script}}`)
    .join("");

/** A joiner between letters or emojis has a visible effect. */
const VISIBLE_JOINERS = [
  String.raw`(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d(?=\p{Extended_Pictographic})`,
  String.raw`(?<=\p{Extended_Pictographic})[\ufe0e\ufe0f]`,
  String.raw`(?<=[0-9#*])\ufe0f(?=\u20e3)`,
  String.raw`(?<=[${JOINING}])[\u200c\u200d](?=[${JOINING}])`,
].join("|");

/** The named group matches what a reader cannot see. Line feeds and tabs are left to the code that shows the text. */
const INVISIBLE = new RegExp(String.raw`${VISIBLE_JOINERS}|(?<invisible>[^\P{Cc}\n\t]|[${IGNORED}])`, "gu");

/** A text without invisible characters: they are written as escapes, `\u202e`. */
export function visibleText(text: string): string {
  return text.toWellFormed().replaceAll("\r\n", "\n").replaceAll(INVISIBLE, escapedIfInvisible);
}

/** The same in pieces: an escape that was written is apart from a text that only looks like one. */
export function visibleParts(text: string): readonly { readonly text: string; readonly isEscape: boolean }[] {
  const clean = text.toWellFormed().replaceAll("\r\n", "\n");
  const parts: { readonly text: string; readonly isEscape: boolean }[] = [];
  let from = 0;
  for (const { 0: character, index, groups } of clean.matchAll(INVISIBLE)) {
    if (groups?.invisible === undefined) continue;
    if (index > from) parts.push({ text: clean.slice(from, index), isEscape: false });
    parts.push({ text: escapeOf(character), isEscape: true });
    from = index + character.length;
  }
  if (from < clean.length) parts.push({ text: clean.slice(from), isEscape: false });
  return parts;
}

/** The same on one line. */
export function visibleLine(text: string): string {
  return visibleText(text).replaceAll(/\s+/g, " ").trim();
}

/** True if a text has invisible characters. Line feeds and tabs do not count. */
export function hasInvisible(text: string): boolean {
  return countInvisible(text) > 0;
}

/** How many invisible characters a text has. */
export function countInvisible(text: string): number {
  return [...text.matchAll(INVISIBLE)].filter(({ groups }) => groups?.invisible !== undefined).length;
}

function escapedIfInvisible(character: string, invisible: string | undefined): string {
  return invisible === undefined ? character : escapeOf(character);
}

function escapeOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : unitEscape(code);
}

const NOT_COMPARED = new RegExp(String.raw`[^\P{Cc}\t-\r]|[${IGNORED}]`, "gu");

/** A name in the form in which names are compared: as it reads, without invisible characters. */
export function comparableText(text: string): string {
  return text.normalize("NFKC").replaceAll(NOT_COMPARED, "").trim();
}

const NOT_IN_JSON = new RegExp(String.raw`[\u007f-\u009f${IGNORED}]`, "gu");

/** JSON without invisible characters. They occur only in its strings, so it parses to the same value. */
export function visibleJson(json: string): string {
  return json.replaceAll(NOT_IN_JSON, (character) =>
    Array.from({ length: character.length }, (_, i) => unitEscape(character.charCodeAt(i))).join(""),
  );
}

function unitEscape(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, "0")}`;
}
