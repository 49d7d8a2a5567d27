import {
  type Document,
  type ErrorCode,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseDocument,
} from "yaml";
import type { SpecPath } from "../../core/job/run-spec-field.ts";
import { type JobText, type Place, type TextMistake, writtenTwice } from "./job-file-text.ts";

/** More references than any job needs, and few enough that what they stand for cannot grow without end. */
const MOST_ALIASES = 100;

const MOST_EXPANDED_CHARACTERS = 1024 * 1024;

/** Reads YAML 1.2 as far as it is JSON, and remembers where everything stands. */
export function readYaml(text: string): JobText {
  const control = /[^\P{Cc}\t\n\r]/u.exec(text);
  if (control !== null) {
    return unreadable([inText(control.index, "A control character stands here: leave it out.")]);
  }
  const document = parseDocument(text, {
    version: "1.2",
    schema: "core",
    merge: false,
    resolveKnownTags: false,
    stringKeys: true,
    // Compared pair by pair, they would take minutes in a large file; the walk finds them all the same.
    uniqueKeys: false,
    prettyErrors: false,
    // Not "silent", which would also keep quiet about a second document.
    logLevel: "error",
  });
  // What YAML only warns of, an unknown tag for instance, is a value other than the one that was written.
  const refused = [...document.errors, ...document.warnings];
  if (refused.length > 0) return unreadable(refused.map((error) => inText(error.pos[0], explain(error))));
  const walk = new YamlWalk();
  const places = { offset: document.contents?.range?.[0] ?? 0, inside: new Map() };
  walk.visit(document.contents, places, []);
  const { mistakes, empty } = walk;
  if (mistakes.length > 0 && walk.isUnresolvable) return unreadable(mistakes);
  const value = resolved(document, walk.aliases);
  return value === undefined
    ? unreadable([
        inText(places.offset, "The aliases of this file stand for too much: write out what is meant."),
      ])
    : { readable: true, value, places, mistakes, empty };
}

function unreadable(mistakes: readonly TextMistake[]): JobText {
  return { readable: false, mistakes };
}

function inText(offset: number, message: string): TextMistake {
  return { offset, path: [], message };
}

/** What the document says, with a copy of its own for each alias; undefined where that is too much. */
function resolved(document: Document, aliases: number): unknown {
  if (aliases === 0) return document.toJS();
  try {
    const expanded = JSON.stringify(document.toJS({ maxAliasCount: MOST_ALIASES }));
    return expanded.length > MOST_EXPANDED_CHARACTERS ? undefined : JSON.parse(expanded);
  } catch (error) {
    // So the library refuses what refers to itself again and again.
    if (error instanceof ReferenceError) return undefined;
    throw error;
  }
}

/** Goes once through all that was written: where it is, and what YAML allows and a job does not. */
class YamlWalk {
  readonly mistakes: TextMistake[] = [];
  readonly empty: SpecPath[] = [];
  aliases = 0;
  /** Whether the document has no value, whatever else is wrong. */
  isUnresolvable = false;
  readonly #anchors = new Set<string>();

  visit(node: unknown, place: Place, path: SpecPath): void {
    if (isMap<Node, Node | null>(node)) {
      for (const pair of node.items) this.#pair(pair, place, path);
    } else if (isSeq<Node>(node)) {
      node.items.forEach((item, index) => {
        const offset = item.range?.[0] ?? place.offset;
        this.visit(item, inside(place, index, offset), [...path, index]);
      });
    } else if (isAlias(node)) {
      this.#alias(node.source, place, path);
    } else if (isScalar(node) && typeof node.value === "number" && !Number.isFinite(node.value)) {
      this.#report(place, path, `is ${node.value}, which JSON does not know: write a number.`);
    }
    // Only now, so that nothing can refer to what it is a part of.
    if ((isMap(node) || isSeq(node) || isScalar(node)) && node.anchor !== undefined) {
      this.#anchors.add(node.anchor);
    }
  }

  #pair({ key, value }: Pair<Node, Node | null>, place: Place, path: SpecPath): void {
    const name = isScalar(key) ? String(key.value) : "";
    const offset = key.range?.[0] ?? place.offset;
    const fieldPath = [...path, name];
    if (place.inside.has(name)) this.mistakes.push(writtenTwice(fieldPath, offset));
    const field = inside(place, name, offset);
    if (name === "<<" && isScalar(key) && key.type === "PLAIN") {
      this.#report(
        field,
        fieldPath,
        "merges another object, which is not supported: write out what is meant.",
      );
    }
    if (isScalar(key) && key.anchor !== undefined) this.#anchors.add(key.anchor);
    if (value === null || (isScalar(value) && value.source === "" && value.type === "PLAIN")) {
      this.empty.push(fieldPath);
    }
    this.visit(value, field, fieldPath);
  }

  #alias(anchor: string, place: Place, path: SpecPath): void {
    this.aliases++;
    if (!this.#anchors.has(anchor)) {
      this.isUnresolvable = true;
      this.#report(
        place,
        path,
        `refers to *${anchor}, and no &${anchor} stands complete before it: write out what is meant.`,
      );
    } else if (this.aliases === MOST_ALIASES + 1) {
      this.isUnresolvable = true;
      this.#report(place, path, `is alias ${this.aliases} of this file, which may have ${MOST_ALIASES}.`);
    }
  }

  #report({ offset }: Place, path: SpecPath, message: string): void {
    this.mistakes.push({ offset, path, message });
  }
}

function inside(place: Place, name: string | number, offset: number): Place {
  const inner = { offset, inside: new Map() };
  place.inside.set(name, inner);
  return inner;
}

const EXPLANATIONS: { readonly [code in ErrorCode]?: string } = {
  BAD_DIRECTIVE: "A line that begins with % says nothing to a job: leave it out.",
  BAD_DQ_ESCAPE: "This escape is unknown between double quotes: write \\\\ for a backslash.",
  BAD_INDENT:
    "The indentation is wrong here, or a bracket above is not closed: fields of one object begin in the same column.",
  BAD_SCALAR_START: "A value cannot begin with this character: put it in quotes.",
  BLOCK_AS_IMPLICIT_KEY:
    "A value with a colon in it has to be in quotes, and an object begins on a line of its own.",
  MULTIPLE_DOCS: "A second document begins here: a job file holds one, so leave out what follows.",
  NON_STRING_KEY: "The name of a field has to be a text.",
  RESOURCE_EXHAUSTION: "This is nested too deeply: make it flatter.",
  TAB_AS_INDENT: "A tab cannot indent in YAML: use spaces.",
  TAG_RESOLVE_FAILED:
    "A tag stands here that a job does not know: leave it out, and use quotes to make a text.",
};

function explain({ code, message }: { readonly code: ErrorCode; readonly message: string }): string {
  if (/closing ['"]quote/.test(message))
    return "A text that begins with a quote has no closing one up to here.";
  return EXPLANATIONS[code] ?? `This is no YAML: ${message.charAt(0).toLowerCase()}${message.slice(1)}.`;
}
