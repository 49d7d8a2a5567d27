/** What JSON can carry. Everything Pawl stores is one of these. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json };

/**
 * A value as JSON would carry it: dates become strings, `undefined` is dropped, and half characters (lone surrogates),
 * which models and tools do produce and which nothing stores, are replaced. Throws where JSON does.
 */
export function throughJson(value: unknown): Json {
  const text = JSON.stringify(value) ?? "null";
  // A lone surrogate is the one thing that is written like this; a text that looks so has two backslashes.
  const wellFormed = text.includes("\\ud")
    ? text.replace(/\\\\|\\ud[89a-f][0-9a-f]{2}/g, (found) => (found === "\\\\" ? found : "\\ufffd"))
    : text;
  return JSON.parse(wellFormed) as Json;
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
