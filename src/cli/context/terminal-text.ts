import { visibleText } from "../../core/visible-text.ts";

const SEGMENTS = new Intl.Segmenter("en", { granularity: "grapheme" });

/** Graphemes two columns wide: East Asian wide characters and emoji. */
const WIDE =
  /^(?:\p{Emoji_Presentation}|\p{Extended_Pictographic}\ufe0f|[\u1100-\u115f\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4c6\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6b\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18aff}\u{1b000}-\u{1b2fb}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}])/u;

/** Graphemes of no width. */
const INVISIBLE = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

/** One line of text that is safe to print: control and invisible characters are replaced by visible symbols or escapes. */
export function cleanLine(text: string): string {
  return visibleText(
    text
      .replaceAll(/\r\n?|\n/g, "⏎")
      .replaceAll("\t", " ")
      .replaceAll(/\p{Cc}/gu, pictureOf),
  );
}

/** Like `cleanLine`, for several lines. */
export function cleanText(text: string): string {
  return text
    .split(/\r\n?|\n/)
    .map((line) => cleanLine(line.replaceAll("\t", "  ")))
    .join("\n");
}

function pictureOf(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "␡" : character;
}

/** The width of a cleaned line, in columns. */
export function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let columns = 0;
  for (const { segment } of SEGMENTS.segment(text)) columns += columnsOf(segment);
  return columns;
}

function columnsOf(segment: string): number {
  if (segment.length === 1 && segment >= " " && segment <= "~") return 1;
  if (INVISIBLE.test(segment)) return 0;
  return WIDE.test(segment) ? 2 : 1;
}

/** Cuts a cleaned line to a width; a cut line ends with …. */
export function cut(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let kept = "";
  let used = 0;
  for (const { segment } of SEGMENTS.segment(text)) {
    used += columnsOf(segment);
    if (used > columns - 1) break;
    kept += segment;
  }
  return columns < 1 ? "" : `${kept}…`;
}

/** Pads a cleaned line with blanks, on the right or, for numbers, on the left. */
export function pad(text: string, columns: number, align: "left" | "right" = "left"): string {
  const blanks = " ".repeat(Math.max(0, columns - widthOf(text)));
  return align === "left" ? text + blanks : blanks + text;
}

/** Wraps a cleaned text at blanks; only a word longer than a line is broken. */
export function wrap(text: string, columns: number): readonly string[] {
  return text.split("\n").flatMap((line) => wrapLine(line, Math.max(1, columns)));
}

/** Cleans and wraps text of any origin. */
export function paragraph(text: string, columns: number): string {
  return `${wrap(cleanText(text), columns).join("\n")}\n`;
}

/** Measures each part only once, so that the time stays linear in the length of the text. */
function wrapLine(line: string, columns: number): readonly string[] {
  const lines: string[] = [];
  let current: Piece = { text: "", width: 0 };
  for (const piece of line.split(" ").flatMap((word) => pieces(word, columns))) {
    const isFirst = current.text === "";
    const width = isFirst ? piece.width : current.width + 1 + piece.width;
    if (width > columns) lines.push(current.text);
    const isNext = width > columns || isFirst;
    current = isNext ? piece : { text: `${current.text} ${piece.text}`, width };
  }
  return [...lines, current.text];
}

/** A word or part of a word, and its width in columns. */
type Piece = { readonly text: string; readonly width: number };

function pieces(word: string, columns: number): readonly Piece[] {
  if (/^[\x20-\x7e]*$/.test(word)) return plainPieces(word, columns);
  const found: Piece[] = [];
  let text = "";
  let width = 0;
  for (const { segment } of SEGMENTS.segment(word)) {
    const more = columnsOf(segment);
    if (width + more > columns) {
      found.push({ text, width });
      text = "";
      width = 0;
    }
    text += segment;
    width += more;
  }
  return [...found, { text, width }];
}

/** Splits a word of one-column characters. */
function plainPieces(word: string, columns: number): readonly Piece[] {
  return Array.from({ length: Math.max(1, Math.ceil(word.length / columns)) }, (_, index) => {
    const text = word.slice(index * columns, (index + 1) * columns);
    return { text, width: text.length };
  });
}
