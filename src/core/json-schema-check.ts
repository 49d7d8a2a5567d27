import type { z } from "zod";
import { isJsonList, isJsonObject, type Json, type JsonObject } from "./json.ts";

/** The result of checking a value against a JSON Schema; the error is a text for a model. */
export type SchemaCheck =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly error: string };

/** What a check needs of zod, which a thread has to import by its address. */
export type SchemaReader = Pick<typeof z, "fromJSONSchema" | "prettifyError">;

/** Throws if the schema cannot be parsed or used. It may take any amount of time: see `isQuickToCheck`. */
export function checkWith(zod: SchemaReader, schema: JsonObject, value: Json): SchemaCheck {
  const parsed = readSchema(zod, schema).safeParse(value);
  return parsed.success
    ? { ok: true, value: parsed.data as Json }
    : { ok: false, error: zod.prettifyError(parsed.error) };
}

/** Parsed once: a tool's schema is used for each of its calls. */
const read = new WeakMap<JsonObject, z.ZodType>();

function readSchema(zod: SchemaReader, schema: JsonObject): z.ZodType {
  const known = read.get(schema) ?? zod.fromJSONSchema(schema);
  read.set(schema, known);
  return known;
}

/**
 * Keywords whose check can take any amount of time, whatever the sizes: regular expressions, and references, with which a
 * small schema checks the same value again and again.
 */
const SLOW_WORDS: ReadonlySet<string> = new Set(["pattern", "format", "$ref"]);
const SLOW_SCHEMAS: ReadonlySet<string> = new Set(["patternProperties", "propertyNames"]);

/** An argument may be called `pattern`, too: then the value is an object, its schema. */
function isSlow(word: string, value: Json): boolean {
  return SLOW_SCHEMAS.has(word) || (SLOW_WORDS.has(word) && !isJsonObject(value));
}

/** Some 20 ms of work: everything in the schema may be compared with everything in the value. */
const MAX_COMPARISONS = 100_000;

/** A schema is compiled before its first use, which takes some 50 µs for each of its values. */
const MAX_SCHEMA_VALUES = 300;

/** True if the check is fast enough for the main thread. The schema and the value may come from an untrusted source. */
export function isQuickToCheck(schema: JsonObject, value: Json): boolean {
  const size = sizeOf(schema, MAX_SCHEMA_VALUES, { isUnwanted: isSlow });
  return size !== null && sizeOf(value, MAX_COMPARISONS / size) !== null;
}

/**
 * The number of values in a value, itself included, down to `levels`; null if there are more than `most`, or one of them is
 * unwanted. It stops counting then.
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
  /** Counts the keys of objects as well. */
  readonly withKeys?: boolean;
};

function nothing(): boolean {
  return false;
}
