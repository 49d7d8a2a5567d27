/** Stands for a line end in a text of one line. Readline would send the text at a real one. */
const LINE_END = "⏎";

const ESCAPE = "\u001b";
const BEGIN = `${ESCAPE}[200~`;
const END = `${ESCAPE}[201~`;
const ALT_ENTER = `${ESCAPE}\r`;

/**
 * What a terminal sends, so that a pasted text is no half message: its line ends stay in the text, and only a pressed Enter
 * sends it. Terminals mark what is pasted. Of one that does not, several lines that come at once are taken as pasted.
 */
export class PastedKeys {
  #isPasting = false;
  /** The beginning of a mark. The rest of it comes later. */
  #held = "";
  /** The last key was Escape, and is with the editor already. */
  #hasEscaped = false;

  read(given: string): string {
    let text = this.#held + given;
    let keys = "";
    if (this.#hasEscaped && text.startsWith(BEGIN.slice(1))) {
      // It was no key, but the first character of a mark: with the rest of it, the editor ignores it.
      keys = BEGIN.slice(1);
      text = text.slice(keys.length);
      this.#isPasting = true;
    }
    for (let at = text.indexOf(this.#mark); at !== -1; at = text.indexOf(this.#mark)) {
      keys += this.#keysOf(text.slice(0, at));
      text = text.slice(at + this.#mark.length);
      this.#isPasting = !this.#isPasting;
    }
    // A pressed Escape is one character, and nothing may follow it: only in a pasted text is it held.
    this.#held = beginningAtEnd(text, this.#mark, this.#isPasting ? 1 : 2);
    this.#hasEscaped = !this.#isPasting && text.endsWith(ESCAPE);
    return keys + this.#keysOf(text.slice(0, text.length - this.#held.length));
  }

  /** The mark that comes next. */
  get #mark(): string {
    return this.#isPasting ? END : BEGIN;
  }

  #keysOf(text: string): string {
    return this.#isPasting ? pasted(text) : typed(text);
  }
}

/** The part of a mark, at least so long, with which a text ends. */
function beginningAtEnd(text: string, mark: string, least: number): string {
  for (let length = mark.length - 1; length >= least; length -= 1)
    if (text.endsWith(mark.slice(0, length))) return mark.slice(0, length);
  return "";
}

/** Everything that is pasted is text: no key of it may do something. */
function pasted(text: string): string {
  return text
    .replaceAll(/\r\n?|\n/g, LINE_END)
    .replaceAll("\t", "  ")
    .replaceAll(/\p{Cc}/gu, "");
}

/**
 * Alt-Enter and Ctrl-J begin a new line; so does an Enter with more behind it. What was typed before the terminal sent single
 * keys ends with the character of Ctrl-J.
 */
function typed(text: string): string {
  return text
    .replace(/(?<=[^\n])\n$/, "\r")
    .replaceAll(ALT_ENTER, LINE_END)
    .replaceAll("\n", LINE_END)
    .replaceAll(/\r(?=[^\p{Cc}])/gu, LINE_END);
}

/** The text as it was meant. */
export function withLineEnds(line: string): string {
  return line.replaceAll(LINE_END, "\n");
}
