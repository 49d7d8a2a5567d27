import { createInterface, type Interface } from "node:readline";
import { PassThrough, type Readable, Writable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { PastedKeys, withLineEnds } from "./pasted-keys.ts";

/** What happens at the prompt. */
export type EditorListener = {
  /** The text or the cursor has changed. */
  changed(): void;
  entered(text: string): void;
  /** Ctrl-C. */
  interrupted(): void;
  /** Ctrl-D, or the terminal is gone. */
  closed(): void;
};

/** Ctrl-D. */
const END_OF_TEXT = "\u0004";

type RawInput = Readable & { setRawMode?: (isRaw: boolean) => unknown };

/**
 * The line that a person writes at a terminal. It knows the keys of Node's readline, with a history, but does not draw: what
 * it draws would be in the way of an answer that is being written above it.
 */
export class LineEditor {
  readonly #input: RawInput;
  readonly #listener: EditorListener;
  readonly #keys = new PassThrough();
  #pasted = new PastedKeys();
  readonly #lines: Interface;
  readonly #onData = (chunk: Buffer | string) => this.#take(chunk);
  readonly #onEnd = () => this.#listener.closed();
  readonly #decoder = new StringDecoder("utf8");
  #isOpen = false;

  constructor(input: Readable, listener: EditorListener) {
    this.#input = input;
    this.#listener = listener;
    const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
    this.#lines = createInterface({ input: this.#keys, output: nowhere, terminal: true, prompt: "" });
    this.#lines.on("line", (line) => listener.entered(withLineEnds(line)));
    this.#lines.on("SIGINT", () => listener.interrupted());
    // Without a listener it would suspend the process, with a terminal that shows no keys.
    this.#lines.on("SIGTSTP", () => undefined);
    // After the listener of readline, which has changed the line by then.
    this.#keys.on("keypress", () => listener.changed());
  }

  get text(): string {
    return this.#lines.line;
  }

  get cursor(): number {
    return this.#lines.cursor;
  }

  /** Listens to keys from now on. */
  start(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    // The end of a text that was being pasted may have gone to others.
    this.#pasted = new PastedKeys();
    this.#input.setRawMode?.(true);
    this.#input.on("data", this.#onData);
    this.#input.on("end", this.#onEnd);
    this.#input.resume();
  }

  /** Leaves the keys to others; the text stays. */
  pause(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#input.off("data", this.#onData);
    this.#input.off("end", this.#onEnd);
    this.#input.setRawMode?.(false);
    this.#input.pause();
  }

  end(): void {
    this.pause();
    this.#lines.close();
  }

  clear(): void {
    this.#lines.write(null, { ctrl: true, name: "e" });
    this.#lines.write(null, { ctrl: true, name: "u" });
  }

  #take(chunk: Buffer | string): void {
    const text = typeof chunk === "string" ? chunk : this.#decoder.write(chunk);
    const keys = this.#pasted.read(text);
    // Readline would close itself, and hear no Ctrl-C after that.
    if (keys === END_OF_TEXT && this.text === "") this.#listener.closed();
    else this.#keys.write(keys);
  }
}
