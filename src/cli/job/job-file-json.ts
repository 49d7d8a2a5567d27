import type { SpecPath } from "../../core/job/run-spec-field.ts";
import { MAX_DEPTH } from "../../core/json.ts";
import { type JobText, type TextMistake, type ValuePosition, writtenTwice } from "./job-file-text.ts";

/**
 * Reads strict JSON and records the position of every value. `JSON.parse` does not always locate an error, and silently keeps
 * the last of two fields with the same name.
 */
export function readJson(text: string): JobText {
  const scanner = new JsonScanner(text);
  try {
    const positions = scanner.scan();
    const value: unknown = JSON.parse(text);
    return { readable: true, value, positions, mistakes: scanner.duplicates, empty: [] };
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    return { readable: false, mistakes: [{ offset: error.offset, path: [], message: error.message }] };
  }
}

const BLANKS = /[ \t\n\r]*/y;
const STRING = /"(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/uy;
const WORD = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

class JsonSyntaxError extends Error {
  readonly offset: number;
  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

class JsonScanner {
  readonly duplicates: TextMistake[] = [];
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  scan(): ValuePosition {
    this.#take(BLANKS);
    const root = { offset: this.#at, inside: new Map() };
    this.#value(root, []);
    if (this.#at < this.#text.length) this.#fail("the end of the file");
    return root;
  }

  #value(position: ValuePosition, path: SpecPath): void {
    if (path.length > MAX_DEPTH) {
      throw new JsonSyntaxError(this.#at, `This is nested deeper than ${MAX_DEPTH} levels: make it flatter.`);
    }
    if (this.#skip("{")) this.#object(position, path);
    else if (this.#skip("[")) this.#array(position, path);
    else if (this.#text[this.#at] === '"') this.#string();
    else if (this.#take(WORD) === "") this.#fail("a value");
    this.#take(BLANKS);
  }

  #object(position: ValuePosition, path: SpecPath): void {
    if (this.#skip("}")) return;
    do {
      const offset = this.#at;
      if (this.#text[offset] !== '"') this.#fail("a name in double quotes");
      const name = JSON.parse(this.#string()) as string;
      this.#take(BLANKS);
      if (!this.#skip(":")) this.#fail("a colon");
      const field = { offset, inside: new Map() };
      if (position.inside.has(name)) this.duplicates.push(writtenTwice([...path, name], offset));
      position.inside.set(name, field);
      this.#value(field, [...path, name]);
    } while (this.#skip(","));
    if (!this.#skip("}")) this.#fail("a comma or a closing }");
  }

  #array(position: ValuePosition, path: SpecPath): void {
    if (this.#skip("]")) return;
    let index = 0;
    do {
      const item = { offset: this.#at, inside: new Map() };
      position.inside.set(index, item);
      this.#value(item, [...path, index]);
      index++;
    } while (this.#skip(","));
    if (!this.#skip("]")) this.#fail("a comma or a closing ]");
  }

  #string(): string {
    const string = this.#take(STRING);
    if (string !== "") return string;
    throw new JsonSyntaxError(
      this.#at,
      "The string that starts here is not valid JSON: look for a missing quote, a line break or a wrong escape in it.",
    );
  }

  /** Skips one character and the blanks after it, if it is next. */
  #skip(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    this.#take(BLANKS);
    return true;
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const [found = ""] = pattern.exec(this.#text) ?? [];
    this.#at += found.length;
    return found;
  }

  #fail(expected: string): never {
    const found = this.#text[this.#at];
    const given = found === undefined ? "the end of the file" : `\`${found}\``;
    throw new JsonSyntaxError(this.#at, `Expected ${expected}, but found ${given}${this.#hint(found)}.`);
  }

  #hint(found: string | undefined): string {
    if (found === "'") return ": JSON allows only double quotes";
    if (found === "/" || found === "#") return ": JSON has no comments";
    const isAfterComma = /,[ \t\n\r]*$/.test(this.#text.slice(Math.max(0, this.#at - 1_000), this.#at));
    return (found === "}" || found === "]") && isAfterComma ? ": leave out the comma before it" : "";
  }
}
