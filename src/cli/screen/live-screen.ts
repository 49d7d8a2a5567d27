import { stripVTControlCharacters } from "node:util";
import type { CliContext, TextOutput } from "../context/cli-context.ts";
import { widthOf } from "../context/terminal-text.ts";

const HIDE_CURSOR = "\u001b[?25l";
const SHOW_CURSOR = "\u001b[?25h";
const CLEAR_LINE = "\u001b[K";
const CLEAR_BELOW = "\u001b[J";

/** A text on a terminal that is drawn again in its place. */
export class LiveScreen {
  readonly #output: TextOutput;
  #drawn: readonly string[] = [];

  constructor(output: TextOutput) {
    this.#output = output;
  }

  start(): void {
    this.#output.write(HIDE_CURSOR);
  }

  /** The last text stays. */
  stop(): void {
    this.#output.write(SHOW_CURSOR);
  }

  /** In one write, clearing each line as it is written, to avoid flicker. What is below the window is left out, and counted. */
  draw(text: string): void {
    const top = this.#backToTop();
    const lines = text.trimEnd().split("\n");
    // The cursor is in the last row of the window.
    const room = Math.max(2, (this.#output.rows ?? Number.POSITIVE_INFINITY) - 1);
    const left = lines.length - (room - 1);
    this.#drawn =
      lines.length <= room
        ? lines
        : [...lines.slice(0, room - 1), `… ${left} more lines: enlarge the window`];
    const block = this.#drawn.map((line) => `${line}${CLEAR_LINE}\n`).join("");
    this.#output.write(`${top}${block}${CLEAR_BELOW}`);
  }

  /** Moves to the first line. A terminal that was made narrower has wrapped its lines. */
  #backToTop(): string {
    const columns = Math.max(1, this.#output.columns);
    const height = (line: string) =>
      Math.max(1, Math.ceil(widthOf(stripVTControlCharacters(line)) / columns));
    const rows = this.#drawn.reduce((sum, line) => sum + height(line), 0);
    return rows === 0 ? "\r" : `\u001b[${rows}A\r`;
  }
}

/** Calls back for every key, as it is pressed, until the returned function is called. */
export function onKeys({ stdin }: CliContext, listener: (keys: string) => void): () => void {
  if (!stdin.isTerminal) return () => undefined;
  const stream: typeof stdin.stream & { setRawMode?: (isRaw: boolean) => unknown } = stdin.stream;
  const onData = (chunk: Buffer | string) => listener(chunk.toString());
  stream.setRawMode?.(true);
  stream.on("data", onData);
  return () => {
    stream.off("data", onData);
    stream.setRawMode?.(false);
    stream.pause();
  };
}
