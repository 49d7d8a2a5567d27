/** Never seen, or it changes how the rest is seen: what Unicode says is ignored when drawn, and what draws a mere blank. */
const IGNORED = String.raw`\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u2800\ufff9-\ufffb`;

/** Scripts whose letters are joined, or kept apart, by a character that is not seen itself. */
const JOINING =
  "Arabic Syriac Mongolian Nko Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Khmer Myanmar Tibetan"
    .split(" ")
    .map((script) => String.raw`\p{Script=${script}}`)
    .join("");

/** What joins letters or emojis is seen by what it does, where it stands between such. */
const SEEN_BY_ITS_EFFECT = [
  String.raw`(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d(?=\p{Extended_Pictographic})`,
  String.raw`(?<=\p{Extended_Pictographic})[\ufe0e\ufe0f]`,
  String.raw`(?<=[0-9#*])\ufe0f(?=\u20e3)`,
  String.raw`(?<=[${JOINING}])[\u200c\u200d](?=[${JOINING}])`,
].join("|");

/** The second part is what a reader does not see. Line feeds and tabs are left to whoever shows the text. */
const UNSEEN = new RegExp(String.raw`${SEEN_BY_ITS_EFFECT}|(?<unseen>[^\P{Cc}\n\t]|[${IGNORED}])`, "gu");

/** A text of which all is to be seen: what would not be is written as an escape, `\u202e`. */
export function visibleText(text: string): string {
  return text.toWellFormed().replaceAll("\r\n", "\n").replaceAll(UNSEEN, escapedIfUnseen);
}

/** The same on one line. */
export function visibleLine(text: string): string {
  return visibleText(text).replaceAll(/\s+/g, " ").trim();
}

/** Whether a reader would not see all of a text. Line feeds and tabs are left to whoever asks. */
export function hasInvisible(text: string): boolean {
  return [...text.matchAll(UNSEEN)].some(({ groups }) => groups?.unseen !== undefined);
}

function escapedIfUnseen(character: string, unseen: string | undefined): string {
  return unseen === undefined ? character : escapeOf(character);
}

function escapeOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : unitEscape(code);
}

const NOT_COMPARED = new RegExp(String.raw`[^\P{Cc}\t-\r]|[${IGNORED}]`, "gu");

/** What is left of a text for comparing names: as it is read, without anything that is not seen. */
export function comparableText(text: string): string {
  return text.normalize("NFKC").replaceAll(NOT_COMPARED, "").trim();
}

const NOT_IN_JSON = new RegExp(String.raw`[\u007f-\u009f${IGNORED}]`, "gu");

/** JSON with nothing in it that is not seen: such characters stand in its texts only, so it is the same when it is parsed. */
export function visibleJson(json: string): string {
  return json.replaceAll(NOT_IN_JSON, (character) =>
    Array.from({ length: character.length }, (_, i) => unitEscape(character.charCodeAt(i))).join(""),
  );
}

function unitEscape(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, "0")}`;
}
