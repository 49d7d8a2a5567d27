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
import { type JobText, type TextMistake, type ValuePosition, writtenTwice } from "./job-file-text.ts";

/** More aliases than any job needs, and few enough to limit how far they can expand. */
const MOST_ALIASES = 100;

const MOST_EXPANDED_CHARACTERS = 1024 * 1024;

/** Reads the JSON subset of YAML 1.2 and records the position of every value. */
export function readYaml(text: string): JobText {
  const control = /[^\P{Cc}\t\n\r]/u.exec(text);
  if (control !== null) {
    return unreadable([inText(control.index, "There is a control character here: remove it.")]);
  }
  const document = parseDocument(text, {
    version: "1.2",
    schema: "core",
    merge: false,
    resolveKnownTags: false,
    stringKeys: true,
    // The library compares keys pairwise, which takes minutes for a large file; the walk finds duplicates anyway.
    uniqueKeys: false,
    prettyErrors: false,
    // Not "silent", which would also ignore a second document.
    logLevel: "error",
  });
  // YAML only warns about an unknown tag, for instance, but its value would differ from what was written.
  const refused = [...document.errors, ...document.warnings];
  if (refused.length > 0) return unreadable(refused.map((error) => inText(error.pos[0], explain(error))));
  const walk = new YamlWalk();
  const positions = { offset: document.contents?.range?.[0] ?? 0, inside: new Map() };
  walk.visit(document.contents, positions, []);
  const { mistakes, empty } = walk;
  if (mistakes.length > 0 && walk.isUnresolvable) return unreadable(mistakes);
  const value = resolved(document, walk.aliases);
  return value === undefined
    ? unreadable([
        inText(positions.offset, "The aliases of this file expand to too much: write the values out."),
      ])
    : { readable: true, value, positions, mistakes, empty };
}

function unreadable(mistakes: readonly TextMistake[]): JobText {
  return { readable: false, mistakes };
}

function inText(offset: number, message: string): TextMistake {
  return { offset, path: [], message };
}

/** The document's value, with a copy for each alias; undefined if that is too large. */
function resolved(document: Document, aliases: number): unknown {
  if (aliases === 0) return document.toJS();
  try {
    const expanded = JSON.stringify(document.toJS({ maxAliasCount: MOST_ALIASES }));
    return expanded.length > MOST_EXPANDED_CHARACTERS ? undefined : JSON.parse(expanded);
  } catch (error) {
    // The library's error for aliases that expand too often.
    if (error instanceof ReferenceError) return undefined;
    throw error;
  }
}

/** Visits every node once: records positions, and finds what YAML allows but a job does not. */
class YamlWalk {
  readonly mistakes: TextMistake[] = [];
  readonly empty: SpecPath[] = [];
  aliases = 0;
  /** The document has no value: an alias cannot be resolved. */
  isUnresolvable = false;
  readonly #anchors = new Set<string>();

  visit(node: unknown, position: ValuePosition, path: SpecPath): void {
    if (isMap<Node, Node | null>(node)) {
      for (const pair of node.items) this.#pair(pair, position, path);
    } else if (isSeq<Node>(node)) {
      node.items.forEach((item, index) => {
        const offset = item.range?.[0] ?? position.offset;
        this.visit(item, inside(position, index, offset), [...path, index]);
      });
    } else if (isAlias(node)) {
      this.#alias(node.source, position, path);
    } else if (isScalar(node) && typeof node.value === "number" && !Number.isFinite(node.value)) {
      this.#report(position, path, `is ${node.value}, which JSON does not support: write a number.`);
    }
    // Added last, so that a node cannot refer to itself.
    if ((isMap(node) || isSeq(node) || isScalar(node)) && node.anchor !== undefined) {
      this.#anchors.add(node.anchor);
    }
  }

  #pair({ key, value }: Pair<Node, Node | null>, position: ValuePosition, path: SpecPath): void {
    const name = isScalar(key) ? String(key.value) : "";
    const offset = key.range?.[0] ?? position.offset;
    const fieldPath = [...path, name];
    if (position.inside.has(name)) this.mistakes.push(writtenTwice(fieldPath, offset));
    const field = inside(position, name, offset);
    if (name === "<<" && isScalar(key) && key.type === "PLAIN") {
      this.#report(field, fieldPath, "merges another object, which is not supported: write the fields out.");
    }
    if (isScalar(key) && key.anchor !== undefined) this.#anchors.add(key.anchor);
    if (value === null || (isScalar(value) && value.source === "" && value.type === "PLAIN")) {
      this.empty.push(fieldPath);
    }
    this.visit(value, field, fieldPath);
  }

  #alias(anchor: string, position: ValuePosition, path: SpecPath): void {
    this.aliases++;
    if (!this.#anchors.has(anchor)) {
      this.isUnresolvable = true;
      this.#report(
        position,
        path,
        `refers to *${anchor}, but no complete &${anchor} comes before it: write the value out.`,
      );
    } else if (this.aliases === MOST_ALIASES + 1) {
      this.isUnresolvable = true;
      this.#report(
        position,
        path,
        `is alias ${this.aliases} of this file, and at most ${MOST_ALIASES} are allowed.`,
      );
    }
  }

  #report({ offset }: ValuePosition, path: SpecPath, message: string): void {
    this.mistakes.push({ offset, path, message });
  }
}

function inside(position: ValuePosition, name: string | number, offset: number): ValuePosition {
  const inner = { offset, inside: new Map() };
  position.inside.set(name, inner);
  return inner;
}

const EXPLANATIONS: { readonly [code in ErrorCode]?: string } = {
  BAD_DIRECTIVE: "A line that starts with % has no meaning in a job: remove it.",
  BAD_DQ_ESCAPE: "This escape is not valid in double quotes: write \\\\ for a backslash.",
  BAD_INDENT:
    "The indentation is wrong here, or a bracket above is not closed: fields of one object start in the same column.",
  BAD_SCALAR_START: "A value cannot start with this character: put it in quotes.",
  BLOCK_AS_IMPLICIT_KEY:
    "A value that contains a colon must be in quotes, and an object starts on its own line.",
  MULTIPLE_DOCS: "A second document starts here: a job file holds one, so remove what follows.",
  NON_STRING_KEY: "The name of a field must be a string.",
  RESOURCE_EXHAUSTION: "This is nested too deeply: make it flatter.",
  TAB_AS_INDENT: "A tab cannot indent in YAML: use spaces.",
  TAG_RESOLVE_FAILED: "This tag is not supported: remove it, and use quotes to make a string.",
};

function explain({ code, message }: { readonly code: ErrorCode; readonly message: string }): string {
  if (/closing ['"]quote/.test(message))
    return "A string that starts with a quote is not closed before this point.";
  return (
    EXPLANATIONS[code] ?? `This is not valid YAML: ${message.charAt(0).toLowerCase()}${message.slice(1)}.`
  );
}
