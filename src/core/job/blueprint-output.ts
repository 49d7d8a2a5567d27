import { z } from "zod";
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { isQuickToCheck } from "../json-schema-check.ts";
import { nearestName } from "../naming/nearest-name.ts";
import { checkBySchema } from "../zod-json-schema.ts";
import { valueAt } from "./blueprint-template.ts";
import type { SpecProblem } from "./run-spec-field.ts";

/** What is known about a value before the run. */
export type KnownOutput =
  | { readonly kind: "unknown" }
  | { readonly kind: "text" }
  | { readonly kind: "schema"; readonly schema: JsonObject }
  | { readonly kind: "value"; readonly value: Json };

export const UNKNOWN: KnownOutput = { kind: "unknown" };

type OutputLookup =
  | { readonly ok: true; readonly output: KnownOutput }
  | { readonly ok: false; readonly why: string };

/** What is known about the part of a value at a path, or the reason why there can be none. */
export function outputAt(output: KnownOutput, path: readonly string[]): OutputLookup {
  const [name, ...rest] = path;
  if (name === undefined || output.kind === "unknown") return { ok: true, output };
  if (output.kind === "value") {
    const found = valueAt(output.value, path);
    return found.ok ? { ok: true, output: { kind: "value", value: found.value } } : found;
  }
  if (output.kind === "text")
    return { ok: false, why: "it is a text without fields: name it as a whole, or give its agent an output" };
  if (output.schema.type === "string")
    return { ok: false, why: `it is a text, and there is no ${name} in it` };
  const { properties, type } = output.schema;
  if (!isJsonObject(properties) || type !== "object" || isOpen(output.schema))
    return { ok: true, output: UNKNOWN };
  const inner = Object.hasOwn(properties, name) ? properties[name] : undefined;
  if (inner === undefined) return { ok: false, why: missingIn(Object.keys(properties), name) };
  return outputAt(isJsonObject(inner) ? { kind: "schema", schema: inner } : UNKNOWN, rest);
}

/** True if an object may have more than its listed properties. */
export function isOpen(schema: JsonObject): boolean {
  const { additionalProperties: more = false } = schema;
  return (
    more !== false || ["patternProperties", "$ref", "anyOf", "oneOf", "allOf"].some((word) => word in schema)
  );
}

function missingIn(names: readonly string[], name: string): string {
  const near = nearestName(name, names);
  return `there is no ${name} in it: ${near === null ? `it has ${names.join(", ")}` : `did you mean ${near}?`}`;
}

/** True if the output can have this value. */
export function canBe(output: KnownOutput, value: Json): boolean {
  if (output.kind === "text") return typeof value === "string";
  // The schema may come from a server: a check that could take long is left to the tool itself.
  if (output.kind !== "schema" || !isQuickToCheck(output.schema, value)) return true;
  try {
    return checkBySchema(output.schema, value).ok;
  } catch {
    return true;
  }
}

/** The possible values of an output, as the end of a sentence. */
export function allowedText(output: KnownOutput): string {
  if (output.kind === "text") return ": it is a text";
  const { enum: values, type } = output.kind === "schema" ? output.schema : {};
  if (Array.isArray(values)) return `: it is one of ${values.map((each) => JSON.stringify(each)).join(", ")}`;
  return typeof type === "string" ? `: it is of type ${type}` : "";
}

/** The schemas directly inside a schema, with their paths. */
function partsOf(schema: JsonObject): readonly (readonly [readonly (string | number)[], Json])[] {
  const named = ["properties", "$defs", "definitions"].flatMap((word) => {
    const group = schema[word];
    return isJsonObject(group)
      ? Object.entries(group).map(([name, part]) => [[word, name], part] as const)
      : [];
  });
  const listed = ["anyOf", "oneOf", "allOf", "prefixItems"].flatMap((word) => {
    const group = schema[word];
    return Array.isArray(group)
      ? (group as readonly Json[]).map((part, index) => [[word, index], part] as const)
      : [];
  });
  const single = ["items", "additionalProperties"].flatMap((word) => {
    const part = schema[word];
    return part === undefined || Array.isArray(part) ? [] : [[[word], part] as const];
  });
  return [...named, ...listed, ...single];
}

const WORDS =
  "$schema $id $defs $ref $comment $anchor definitions title description default examples deprecated readOnly writeOnly type enum const properties required additionalProperties patternProperties propertyNames minProperties maxProperties items prefixItems minItems maxItems uniqueItems contains minContains maxContains minLength maxLength pattern format contentEncoding contentMediaType minimum maximum exclusiveMinimum exclusiveMaximum multipleOf anyOf oneOf allOf not if then else unevaluatedProperties unevaluatedItems dependentRequired dependentSchemas nullable".split(
    " ",
  );

/** The mistakes in a schema. */
export function schemaProblems(schema: Json): readonly SpecProblem[] {
  if (typeof schema === "boolean") return [];
  if (!isJsonObject(schema))
    return [{ path: [], message: "must be a JSON Schema: an object, true or false." }];
  const own = Object.keys(schema).flatMap((word) => misspelt(word));
  const inner = partsOf(schema).flatMap(([path, part]) =>
    schemaProblems(part).map((problem) => ({ ...problem, path: [...path, ...problem.path] })),
  );
  return [...own, ...inner, ...undeclared(schema)];
}

/** JSON Schema ignores unknown keywords: a typo would silently switch off a rule. */
function misspelt(word: string): readonly SpecProblem[] {
  if (WORDS.includes(word)) return [];
  const near = nearestName(word, WORDS);
  return near === null
    ? []
    : [{ path: [word], message: `is no keyword of JSON Schema: did you mean ${near}?` }];
}

function undeclared({ properties, required }: JsonObject): readonly SpecProblem[] {
  if (!isJsonObject(properties) || !Array.isArray(required)) return [];
  return (required as readonly Json[]).flatMap((name, index) => {
    if (typeof name === "string" && Object.hasOwn(properties, name)) return [];
    const near = typeof name === "string" ? nearestName(name, Object.keys(properties)) : null;
    const meant = near === null ? `it has ${Object.keys(properties).join(", ")}.` : `did you mean ${near}?`;
    return [{ path: ["required", index], message: `is no property: ${meant}` }];
  });
}

/** Zod's error about a schema that it cannot read, with the path of the innermost faulty part. */
export function unreadablePart(schema: Json, whole: JsonObject): SpecProblem | null {
  if (!isJsonObject(schema)) return null;
  const why = unreadable(schema === whole ? schema : { ...definitionsOf(whole), ...schema });
  if (why === null) return null;
  for (const [path, part] of partsOf(schema)) {
    const inner = unreadablePart(part, whole);
    if (inner !== null) return { ...inner, path: [...path, ...inner.path] };
  }
  return { path: [], message: `cannot be read as a JSON Schema: ${why.replace(/\.$/, "")}.` };
}

export function definitionsOf({ $defs, definitions }: JsonObject): JsonObject {
  return { ...($defs === undefined ? {} : { $defs }), ...(definitions === undefined ? {} : { definitions }) };
}

function unreadable(schema: JsonObject): string | null {
  try {
    z.fromJSONSchema(schema);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
