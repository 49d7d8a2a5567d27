/** What JSON can carry. Everything Pawl stores is one of these. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json };

/** Deeper than any honest value, and shallow enough that no recursive reader of it runs out of stack. */
export const MAX_DEPTH = 500;

/** What arguments, results, outputs and inputs may have of that: the rest is for what they are kept and sent in. */
export const MAX_PAYLOAD_DEPTH = 400;

/** Whether objects and lists stand inside of each other in more than so many levels. Does not look any deeper. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) return value.some((item) => isDeeper(item, levels - 1));
  const object = value as { readonly [key: string]: unknown };
  // Not `Object.values`: of an object with thousands of keys that takes twice as long.
  return Object.keys(object).some((key) => isDeeper(object[key], levels - 1));
}

/** A copy of so many levels: what lies deeper is a text that says so. */
export function upToDepth(value: Json, levels: number): Json {
  if (typeof value !== "object" || value === null) return value;
  if (levels === 0) return "(nested too deep)";
  if (Array.isArray(value)) return value.map((item: Json) => upToDepth(item, levels - 1));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, upToDepth(item, levels - 1)]));
}

/**
 * A value as JSON would carry it: dates become strings, `undefined` is dropped, and half characters (lone surrogates),
 * which models and tools do produce and which nothing stores, are replaced. Throws where JSON does, and where it is
 * nested deeper than `levels`.
 */
export function throughJson(value: unknown, levels = MAX_DEPTH): Json {
  const text = jsonText(value, levels);
  // A lone surrogate is the one thing that is written like this; a text that looks so has two backslashes.
  const wellFormed = text.includes("\\ud")
    ? text.replace(/\\\\|\\ud[89a-f][0-9a-f]{2}/g, (found) => (found === "\\\\" ? found : "\\ufffd"))
    : text;
  const json = JSON.parse(wellFormed) as Json;
  if (isDeeper(json, levels)) throw tooDeep(levels);
  return json;
}

/** Of what is far too deep not even the text can be made. */
function jsonText(value: unknown, levels: number): string {
  try {
    return JSON.stringify(value) ?? "null";
  } catch (error) {
    throw isStackOverflow(error) ? tooDeep(levels) : error;
  }
}

export function isStackOverflow(error: unknown): boolean {
  return error instanceof RangeError && error.message.includes("call stack");
}

function tooDeep(levels: number): RangeError {
  return new RangeError(`it is nested deeper than ${levels} levels`);
}

export function isJsonList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What a value becomes on its way through JSON, as far as types can tell: dates are texts, functions are gone. */
export type Jsonified<T> = unknown extends T
  ? Json
  : T extends string | number | boolean | null
    ? T
    : T extends { toJSON(): infer J }
      ? J
      : T extends readonly (infer E)[]
        ? Jsonified<E>[]
        : T extends undefined | ((...args: never[]) => unknown)
          ? null
          : T extends object
            ? { [K in keyof T]: Jsonified<T[K]> }
            : never;
