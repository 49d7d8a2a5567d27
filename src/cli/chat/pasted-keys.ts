/** Stands for a line end in a text of one line. Readline would send the text at a real one. */
const LINE_END = "⏎";

const BEGIN = "\u001b[200~";
const END = "\u001b[201~";
const ALT_ENTER = "\u001b\r";

/** How both begin. What has come may end in the middle of it. */
const PART = ["\u001b[2", "\u001b[20", "\u001b[200", "\u001b[201"];

/**
 * What a terminal sends, so that a pasted text is no half message: its line ends stay in the text, and only a pressed Enter
 * sends it. Terminals mark what is pasted. Of one that does not, several lines that come at once are taken as pasted.
 */
export class PastedKeys {
  #isPasting = false;
  #rest = "";

  read(given: string): string {
    let text = this.#rest + given;
    this.#rest = PART.find((part) => text.endsWith(part)) ?? "";
    text = text.slice(0, text.length - this.#rest.length);
    let keys = "";
    while (text !== "") {
      const mark = this.#isPasting ? END : BEGIN;
      const at = text.indexOf(mark);
      const part = at === -1 ? text : text.slice(0, at);
      keys += this.#isPasting ? pasted(part) : typed(part);
      if (at === -1) break;
      this.#isPasting = !this.#isPasting;
      text = text.slice(at + mark.length);
    }
    return keys;
  }
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
