import type { SpecPath } from "../../core/job/run-spec-field.ts";
import { MAX_DEPTH } from "../../core/json.ts";
import { type JobText, type Place, type TextMistake, writtenTwice } from "./job-file-text.ts";

/**
 * Reads strict JSON and remembers where everything stands. `JSON.parse` says whether a text is JSON, but not always
 * where it stops being it, and keeps the last of two fields of one name without a word.
 */
export function readJson(text: string): JobText {
  const scanner = new JsonScanner(text);
  try {
    const places = scanner.scan();
    const value: unknown = JSON.parse(text);
    return { readable: true, value, places, mistakes: scanner.duplicates, empty: [] };
  } catch (error) {
    if (!(error instanceof NotJsonHere)) throw error;
    return { readable: false, mistakes: [{ offset: error.offset, path: [], message: error.message }] };
  }
}

const BLANKS = /[ \t\n\r]*/y;
const STRING = /"(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/uy;
const WORD = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

class NotJsonHere extends Error {
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

  scan(): Place {
    this.#take(BLANKS);
    const root = { offset: this.#at, inside: new Map() };
    this.#value(root, []);
    if (this.#at < this.#text.length) this.#fail("The end of the file");
    return root;
  }

  #value(place: Place, path: SpecPath): void {
    if (path.length > MAX_DEPTH) {
      throw new NotJsonHere(this.#at, `This is nested deeper than ${MAX_DEPTH} levels: make it flatter.`);
    }
    if (this.#skip("{")) this.#object(place, path);
    else if (this.#skip("[")) this.#array(place, path);
    else if (this.#text[this.#at] === '"') this.#string();
    else if (this.#take(WORD) === "") this.#fail("A value");
    this.#take(BLANKS);
  }

  #object(place: Place, path: SpecPath): void {
    if (this.#skip("}")) return;
    do {
      const offset = this.#at;
      if (this.#text[offset] !== '"') this.#fail("A name in double quotes");
      const name = JSON.parse(this.#string()) as string;
      this.#take(BLANKS);
      if (!this.#skip(":")) this.#fail("A colon");
      const field = { offset, inside: new Map() };
      if (place.inside.has(name)) this.duplicates.push(writtenTwice([...path, name], offset));
      place.inside.set(name, field);
      this.#value(field, [...path, name]);
    } while (this.#skip(","));
    if (!this.#skip("}")) this.#fail("A comma or a closing }");
  }

  #array(place: Place, path: SpecPath): void {
    if (this.#skip("]")) return;
    let index = 0;
    do {
      const item = { offset: this.#at, inside: new Map() };
      place.inside.set(index, item);
      this.#value(item, [...path, index]);
      index++;
    } while (this.#skip(","));
    if (!this.#skip("]")) this.#fail("A comma or a closing ]");
  }

  #string(): string {
    const string = this.#take(STRING);
    if (string !== "") return string;
    throw new NotJsonHere(
      this.#at,
      "The text that begins here is no JSON: look for a missing quote, a line break or a wrong escape in it.",
    );
  }

  /** One character and the blanks behind it, if it is the next. */
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
    throw new NotJsonHere(this.#at, `${expected} must stand here, not ${given}${this.#hint(found)}.`);
  }

  #hint(found: string | undefined): string {
    if (found === "'") return ": JSON has double quotes only";
    if (found === "/" || found === "#") return ": JSON has no comments";
    const isAfterComma = /,[ \t\n\r]*$/.test(this.#text.slice(Math.max(0, this.#at - 1_000), this.#at));
    return (found === "}" || found === "]") && isAfterComma ? ": leave out the comma before it" : "";
  }
}
