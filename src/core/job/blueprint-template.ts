import { isJsonObject, type Json } from "../json.ts";
import { nearestName } from "../naming/nearest-name.ts";

/** What a template may refer to: the input of the run, the input of the step, and the outputs of earlier steps. */
const TEMPLATE_ROOTS = ["input", "previous", "steps"] as const;

/** `{{ steps.draft.text }}`, parsed. */
export type TemplateReference = {
  /** As written, without the spaces around it: `steps.draft.text`. */
  readonly text: string;
  readonly root: (typeof TEMPLATE_ROOTS)[number];
  /** The step, if the root is `steps`. */
  readonly step: string | null;
  /** The path inside that value: names of fields, and indexes of lists from 0. */
  readonly path: readonly string[];
};

export type TemplatePart = string | TemplateReference;

export type ParsedTemplate =
  | { readonly ok: true; readonly parts: readonly TemplatePart[] }
  | { readonly ok: false; readonly problem: string };

/** A backslash before two braces escapes them. */
const MARK = /\\\{\{|\{\{/g;

/** Parses a text with references, each written as `{{ … }}`. */
export function parseTemplate(text: string): ParsedTemplate {
  const parts: TemplatePart[] = [];
  let at = 0;
  for (const { 0: mark, index } of text.matchAll(MARK)) {
    if (index < at) continue;
    parts.push(text.slice(at, index));
    at = index + mark.length;
    if (mark !== "{{") {
      parts.push("{{");
      continue;
    }
    const end = text.indexOf("}}", at);
    if (end === -1)
      return {
        ok: false,
        problem: 'has a "{{" that is not closed: add "}}", or write "\\{{" for the braces.',
      };
    const reference = parseReference(text.slice(at, end).trim());
    if (typeof reference === "string") return { ok: false, problem: reference };
    parts.push(reference);
    at = end + 2;
  }
  parts.push(text.slice(at));
  return { ok: true, parts: parts.filter((part) => part !== "") };
}

function parseReference(text: string): TemplateReference | string {
  if (text === "") return "has an empty {{ }}: write a reference in it, such as {{ previous }}.";
  const [root = "", ...path] = text.split(".");
  const known = TEMPLATE_ROOTS.find((each) => each === root);
  if (known === undefined) {
    const near = nearestName(root, TEMPLATE_ROOTS);
    return `has {{ ${text} }}: ${near === null ? `a reference begins with ${TEMPLATE_ROOTS.join(", ")}.` : `did you mean ${near}?`}`;
  }
  if (path.some((segment) => segment === "" || /[\s{}]/.test(segment)))
    return `has {{ ${text} }}: write the names in it with one dot between them, such as {{ steps.draft.text }}.`;
  if (known !== "steps") return { text, root: known, step: null, path };
  const [step, ...inside] = path;
  if (step === undefined) return "has {{ steps }}: say which one, such as {{ steps.draft }}.";
  return { text, root: known, step, path: inside };
}

export function referencesOf(parts: readonly TemplatePart[]): readonly TemplateReference[] {
  return parts.filter((part) => typeof part !== "string");
}

export type ValueLookup =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly why: string };

/** The value at a path, or the reason why there is none. */
export function valueAt(value: Json, path: readonly string[]): ValueLookup {
  let at = value;
  for (const segment of path) {
    const inner =
      Array.isArray(at) && /^\d+$/.test(segment)
        ? (at as readonly Json[])[Number(segment)]
        : fieldOf(at, segment);
    if (inner === undefined) return { ok: false, why: `there is no ${segment} in ${kindOf(at)}` };
    at = inner;
  }
  return { ok: true, value: at };
}

function fieldOf(value: Json, name: string): Json | undefined {
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

const MAX_LISTED = 10;

function kindOf(value: Json): string {
  if (typeof value === "string") return "a text";
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const names = Object.keys(value);
  if (names.length === 0) return "an object without fields";
  return `an object with ${names.slice(0, MAX_LISTED).join(", ")}${names.length > MAX_LISTED ? ", …" : ""}`;
}

/** A template that is a single reference returns the value itself, every other one a text. */
export async function fillTemplate(
  parts: readonly TemplatePart[],
  valueOf: (reference: TemplateReference) => Promise<Json>,
): Promise<Json> {
  const values = await Promise.all(
    parts.map(async (part) => (typeof part === "string" ? part : valueOf(part))),
  );
  const [only] = values;
  if (values.length === 1 && only !== undefined) return only;
  return values.map(asText).join("");
}

/** A value as it is written into a text. */
export function asText(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
