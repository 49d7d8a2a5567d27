/**
 * What is not seen, or changes how the rest is seen: control characters but for line feed and tab, marks that turn the
 * direction of reading, blanks without a width, tags. What joins letters or emojis is left alone: it is seen.
 */
const UNSEEN =
  /[^\P{Cc}\n\t]|[\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|[\u{e0100}-\u{e01ef}]/gu;

/** A text of which all is to be seen: what would not be is written as an escape, `\u202e`. */
export function visibleText(text: string): string {
  return text.toWellFormed().replaceAll("\r\n", "\n").replaceAll(UNSEEN, escapeOf);
}

/** The same on one line. */
export function visibleLine(text: string): string {
  return visibleText(text).replaceAll(/\s+/g, " ").trim();
}

function escapeOf(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
}
