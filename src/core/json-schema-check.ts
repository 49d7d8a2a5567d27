import { z } from "zod";
import { isJsonList, isJsonObject, type Json, type JsonObject } from "./json.ts";

/** What a value comes to by a JSON Schema; a mistake is a text for a model. */
export type SchemaCheck =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly error: string };

/** Throws where the schema cannot be read, or used. Takes as long as it takes: see `isQuickToCheck`. */
export function checkBySchema(schema: JsonObject, value: Json): SchemaCheck {
  const parsed = readSchema(schema).safeParse(value);
  return parsed.success
    ? { ok: true, value: parsed.data as Json }
    : { ok: false, error: z.prettifyError(parsed.error) };
}

/** Read once: a tool's schema is used for every call of it. */
const read = new WeakMap<JsonObject, z.ZodType>();

function readSchema(schema: JsonObject): z.ZodType {
  const known = read.get(schema) ?? z.fromJSONSchema(schema);
  read.set(schema, known);
  return known;
}

/**
 * Words whose checking can take any time at all, whatever the sizes: regular expressions, and references, by which a small
 * schema looks at the same value again and again.
 */
const SLOW_WORDS: ReadonlySet<string> = new Set(["pattern", "format", "$ref"]);
const SLOW_SCHEMAS: ReadonlySet<string> = new Set(["patternProperties", "propertyNames"]);

/** An argument may be called `pattern` too: then an object stands there, its schema. */
function isSlow(word: string, value: Json): boolean {
  return SLOW_SCHEMAS.has(word) || (SLOW_WORDS.has(word) && !isJsonObject(value));
}

/** Some 20 ms of work: everything in the schema may be held against everything in the value. */
const MAX_COMPARISONS = 100_000;

/** A schema is made into code before anything is held against it, which takes some 50 µs for each of its values. */
const MAX_SCHEMA_VALUES = 300;

/** Whether a value can be checked where nothing else happens meanwhile. The schema and the value come from strangers. */
export function isQuickToCheck(schema: JsonObject, value: Json): boolean {
  const size = sizeOf(schema, MAX_SCHEMA_VALUES, { isUnwanted: isSlow });
  return size !== null && sizeOf(value, MAX_COMPARISONS / size) !== null;
}

/**
 * How many values there are in a value, itself included, as far as `levels` go; null where there are more than `most`, or one
 * that is not wanted. It looks no further then.
 */
export function sizeOf(
  value: Json,
  most: number,
  { isUnwanted = nothing, levels = Number.POSITIVE_INFINITY, withKeys = false }: SizeOptions = {},
): number | null {
  let size = 1;
  let level: readonly Json[] = [value];
  for (let depth = 0; level.length > 0 && depth < levels; depth++) {
    const below: Json[] = [];
    for (const each of level) {
      if (typeof each !== "object" || each === null) continue;
      const keys = isJsonList(each) ? null : Object.keys(each);
      size += keys === null ? (each as readonly Json[]).length : keys.length * (withKeys ? 2 : 1);
      if (size > most) return null;
      if (isJsonList(each)) for (const item of each) below.push(item);
      else
        for (const name of keys ?? []) {
          const item = each[name] ?? null;
          if (isUnwanted(name, item)) return null;
          below.push(item);
        }
    }
    level = below;
  }
  return size;
}

type SizeOptions = {
  readonly isUnwanted?: (name: string, item: Json) => boolean;
  readonly levels?: number;
  /** Counts names as well. */
  readonly withKeys?: boolean;
};

function nothing(): boolean {
  return false;
}
