import { stripVTControlCharacters } from "node:util";
import type { TextOutput } from "../context/cli-context.ts";
import { cleanLine, cleanText, widthOf, wrap } from "../context/terminal-text.ts";
import type { Paint } from "../screen/format.ts";
import { MARKS, shortened } from "../screen/progress-screen.ts";
import type { ChatLine } from "./chat-view.ts";

const CLEAR_BELOW = "\u001b[J";
/** The terminal marks what is pasted from now on. */
const MARK_PASTES = "\u001b[?2004h";
const NO_MARKS = "\u001b[?2004l";

/** The line that a person is writing; `cursor` counts its characters. */
export type Prompt = { readonly text: string; readonly cursor: number };

const PROMPT = "› ";

/**
 * A conversation on a terminal: lines that stay, and below them a block that is drawn again and again: the end of the answer
 * that is being written, what happens now, and the prompt.
 */
export class ChatScreen {
  readonly #output: TextOutput;
  readonly #paint: Paint;
  #drawn: readonly string[] = [];
  /** The row of the block that the cursor is in. */
  #cursorRow = 0;
  #isOpen = false;
  /** A blank line keeps what a person says from the answer before it. */
  #isFirst = true;

  constructor(output: TextOutput, paint: Paint) {
    this.#output = output;
    this.#paint = paint;
  }

  get columns(): number {
    return Math.max(10, this.#output.columns - 1);
  }

  /** The rows that an answer may have while it is written. */
  get answerRows(): number {
    return Math.max(3, (this.#output.rows ?? 24) - 6);
  }

  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#output.write(MARK_PASTES);
  }

  /** Removes the block. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#output.write(`${this.#toTop()}${CLEAR_BELOW}${NO_MARKS}`);
    this.#drawn = [];
    this.#cursorRow = 0;
  }

  /** The block below `lines`, which stay. In one write, to avoid flicker. */
  draw(lines: readonly ChatLine[], rows: readonly string[], prompt: Prompt): void {
    const printed = this.#rendered(lines);
    if (!this.#isOpen) {
      this.#output.write(printed);
      return;
    }
    const top = this.#toTop();
    const { rows: written, row, column } = this.#promptRows(prompt);
    const above = this.#isFirst && rows.length === 0 ? [] : [...rows, ""];
    this.#drawn = [...above, ...written];
    this.#cursorRow = above.length + row;
    const below = this.#drawn.length - 1 - this.#cursorRow;
    const up = below === 0 ? "" : `\u001b[${below}A`;
    this.#output.write(`${top}${CLEAR_BELOW}${printed}${this.#drawn.join("\n")}${up}\u001b[${column + 1}G`);
  }

  print(lines: readonly ChatLine[]): void {
    this.draw(lines, [], { text: "", cursor: 0 });
  }

  /** A terminal that was made narrower has wrapped the rows. */
  #toTop(): string {
    const columns = Math.max(1, this.#output.columns);
    const height = (row: string) => Math.max(1, Math.ceil(widthOf(stripVTControlCharacters(row)) / columns));
    const above = this.#drawn.slice(0, this.#cursorRow).reduce((sum, row) => sum + height(row), 0);
    return above === 0 ? "\r" : `\u001b[${above}A\r`;
  }

  #promptRows({ text, cursor }: Prompt): {
    readonly rows: readonly string[];
    readonly row: number;
    readonly column: number;
  } {
    const room = this.columns - PROMPT.length;
    const rows = rowsOf(text, room);
    const before = rowsOf(text.slice(0, cursor), room);
    const row = Math.min(before.length - 1, rows.length - 1);
    const column = PROMPT.length + widthOf(before[row] ?? "");
    const shown = rows.map((each, i) => `${i === 0 ? this.#paint.cyan(PROMPT) : "  "}${each}`);
    return { rows: shown, row, column };
  }

  #rendered(lines: readonly ChatLine[]): string {
    return lines
      .flatMap((line) => this.#rows(line))
      .map((row) => `${row}\n`)
      .join("");
  }

  #rows(line: ChatLine): readonly string[] {
    switch (line.kind) {
      case "said": {
        const gap = this.#isFirst ? [] : [""];
        this.#isFirst = false;
        return [...gap, ...this.#said(line.by, line.text)];
      }
      case "answer":
        return wrap(cleanText(line.text), this.columns);
      case "note":
        return this.#note(line.line);
    }
  }

  #said(by: string | null, text: string): readonly string[] {
    const mark = by === null ? PROMPT : `${cleanLine(by)} ${PROMPT}`;
    const indent = by === null ? widthOf(mark) : 2;
    const [first = "", ...rest] = wrap(
      cleanText(by === null ? text : `${mark}${text}`),
      this.columns - (by === null ? indent : 0),
    );
    const { cyan, bold } = this.#paint;
    return by === null
      ? [`${cyan(PROMPT)}${bold(first)}`, ...rest.map((row) => `${" ".repeat(indent)}${bold(row)}`)]
      : [first, ...rest].map((row) => bold(row));
  }

  #note({ tone, text, figures }: Extract<ChatLine, { kind: "note" }>["line"]): readonly string[] {
    const { green, red, yellow, dim } = this.#paint;
    const plain = (row: string) => row;
    const colour = { good: green, bad: red, warning: yellow, quiet: dim, plain }[tone];
    const room = this.columns - 4;
    const end = figures === "" ? "" : `  ${figures}`;
    const isCall = tone === "good" || end !== "";
    const rows = isCall ? [shortened(text, end, room)] : wrap(text, room);
    return rows.map(
      (row, i) => `  ${i === 0 ? colour(MARKS[tone]) : " "} ${tone === "quiet" ? dim(row) : row}`,
    );
  }
}

/** A line of the prompt in rows of this width; the last one has room for the cursor. */
function rowsOf(text: string, columns: number): readonly string[] {
  const rows = [""];
  for (const character of cleanLine(text)) {
    const last = rows[rows.length - 1] ?? "";
    if (widthOf(last) + widthOf(character) > columns) rows.push(character);
    else rows[rows.length - 1] = last + character;
  }
  return rows;
}
