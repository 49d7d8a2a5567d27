import type { LiveEvent } from "../../engine/ports/live-events.ts";
import type { TextOutput } from "../context/cli-context.ts";
import { widthOf } from "../context/terminal-text.ts";
import { type AnswerText, answerAfter, answerRows, withdrawnText } from "./answer-text.ts";

const CLEAR_BELOW = "\u001b[J";

/** The answer that is being written, below the lines of a log on a terminal. */
export class AnswerBlock {
  readonly #output: TextOutput;
  readonly #dim: (text: string) => string;
  #answer: AnswerText | null = null;
  #drawn: readonly string[] = [];

  constructor(output: TextOutput, dim: (text: string) => string) {
    this.#output = output;
    this.#dim = dim;
  }

  show(event: LiveEvent): void {
    this.#answer = answerAfter(this.#answer, event);
    this.#write(event.type === "attempt.withdrawn" ? `${this.#dim(withdrawnText(event))}\n` : "");
  }

  /** Writes a line of the log above it. */
  print(line: string): void {
    this.#write(line);
  }

  /** The answer is whole, and is a line of the log by now; or nobody watches any more. */
  end(): void {
    this.#answer = null;
    this.#write("");
  }

  /** In one write, to avoid flicker. A terminal that was made narrower has wrapped the lines. */
  #write(above: string): void {
    const columns = Math.max(1, this.#output.columns);
    const height = this.#drawn.reduce((sum, row) => sum + Math.max(1, Math.ceil(widthOf(row) / columns)), 0);
    const top = height === 0 ? "" : `\u001b[${height}A\r${CLEAR_BELOW}`;
    this.#drawn = answerRows(this.#answer, columns - 5).map((row) => `  │ ${row}`);
    const block = this.#drawn.map((row) => `${this.#dim(row)}\n`).join("");
    const text = `${top}${above}${block}`;
    if (text !== "") this.#output.write(text);
  }
}
