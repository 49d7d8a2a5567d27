// As much of a terminal as the command line uses: the screen after everything that was written.

import { Writable } from "node:stream";
import type { TextOutput } from "../../src/cli/context/cli-context.ts";
import { widthOf } from "../../src/cli/context/terminal-text.ts";

const ESCAPE = "\u001b";

/** Escape sequences and single characters. */
const TOKENS = new RegExp(`${ESCAPE}\\[\\??[\\d;]*[A-Za-z]|[^]`, "gu");

export class TerminalEmulator {
  columns: number;
  /** The text of every write. */
  readonly writes: string[] = [];
  isCursorShown = true;
  #rows: string[] = [""];
  #row = 0;
  #column = 0;

  constructor(columns: number) {
    this.columns = columns;
  }

  get output(): TextOutput {
    const write = (text: string) => this.write(text);
    const columns = () => this.columns;
    return {
      write,
      drained: () => Promise.resolve(),
      isTerminal: true,
      get columns() {
        return columns();
      },
      isClosed: false,
      stream: new Writable({
        write: (chunk: Buffer, _encoding, done) => {
          write(chunk.toString());
          done();
        },
      }),
    };
  }

  /** The rows from the top to the last one that is not blank. */
  get rows(): readonly string[] {
    const rows = this.#rows.map((row) => row.trimEnd());
    return rows.slice(0, rows.findLastIndex((row) => row !== "") + 1);
  }

  write(text: string): void {
    this.writes.push(text);
    for (const [token] of text.matchAll(TOKENS)) this.#take(token);
  }

  /** Makes the window narrower: lines that no longer fit are wrapped. */
  narrow(columns: number): void {
    this.columns = columns;
    const below = this.#rows.length - this.#row;
    this.#rows = this.#rows.flatMap((row) => {
      const parts = row.trimEnd().match(new RegExp(`.{1,${columns}}`, "gu"));
      return parts ?? [""];
    });
    this.#row = this.#rows.length - below;
  }

  #take(token: string): void {
    if (token.startsWith(ESCAPE)) this.#obey(token);
    else if (token === "\r") this.#column = 0;
    else if (token === "\n") this.#nextRow();
    else this.#put(token);
  }

  #obey(sequence: string): void {
    const [, count = "", letter = ""] = /\[\??([\d;]*)([A-Za-z])$/.exec(sequence) ?? [];
    const steps = Number(count || 1);
    switch (letter) {
      case "A":
        this.#row = Math.max(0, this.#row - steps);
        break;
      case "B":
        for (let step = 0; step < steps; step++) this.#down();
        break;
      case "C":
        this.#column += steps;
        break;
      case "D":
        this.#column = Math.max(0, this.#column - steps);
        break;
      case "G":
        this.#column = steps - 1;
        break;
      case "K":
        this.#clear(count === "2" ? 0 : this.#column);
        break;
      case "J":
        this.#clear(this.#column);
        this.#rows.length = this.#row + 1;
        break;
      case "h":
      case "l":
        if (count === "25") this.isCursorShown = letter === "h";
        break;
      case "m":
        break;
      default:
        throw new Error(`The terminal does not know ${JSON.stringify(sequence)}.`);
    }
  }

  #clear(from: number): void {
    this.#rows[this.#row] = this.#cells().slice(0, from).join("");
  }

  #cells(): string[] {
    return Array.from(this.#rows[this.#row] ?? "");
  }

  #put(character: string): void {
    if (this.#column + widthOf(character) > this.columns) this.#nextRow();
    const cells = this.#cells();
    while (cells.length < this.#column) cells.push(" ");
    cells[this.#column] = character;
    this.#rows[this.#row] = cells.join("");
    this.#column += 1;
  }

  #nextRow(): void {
    this.#down();
    this.#column = 0;
  }

  #down(): void {
    this.#row += 1;
    while (this.#rows.length <= this.#row) this.#rows.push("");
  }
}
