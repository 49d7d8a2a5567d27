/** Any JSON value. Everything that Pawl stores is one of these. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
/** An object of JSON values. */
export type JsonObject = { readonly [key: string]: Json };

/** Deeper than any honest value, and shallow enough that no recursive function runs out of stack. */
export const MAX_DEPTH = 500;

/** The limit for arguments, results, outputs and inputs: the rest is for the objects that they are stored and sent in. */
export const MAX_PAYLOAD_DEPTH = 400;

/** True if objects and lists are nested more than `levels` deep. It looks no deeper than that. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) return value.some((item) => isDeeper(item, levels - 1));
  const object = value as { readonly [key: string]: unknown };
  // Not `Object.values`: of an object with thousands of keys that takes twice as long.
  return Object.keys(object).some((key) => isDeeper(object[key], levels - 1));
}

/** A copy of at most `levels` levels: deeper values are replaced by a text that says so. */
export function upToDepth(value: Json, levels: number): Json {
  if (typeof value !== "object" || value === null) return value;
  if (levels === 0) return "(nested too deep)";
  if (Array.isArray(value)) return value.map((item: Json) => upToDepth(item, levels - 1));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, upToDepth(item, levels - 1)]));
}

/**
 * A value after a round trip through JSON: dates become strings, `undefined` is dropped, and lone surrogates, which models
 * and tools do produce and no database stores, are replaced. Throws where JSON does, and if the value is nested deeper than
 * `levels`.
 */
export function throughJson(value: unknown, levels = MAX_DEPTH): Json {
  const text = jsonText(value, levels);
  // Only a lone surrogate is written like this; a text that looks the same has two backslashes.
  const wellFormed = text.includes("\\ud")
    ? text.replace(/\\\\|\\ud[89a-f][0-9a-f]{2}/g, (found) => (found === "\\\\" ? found : "\\ufffd"))
    : text;
  const json = JSON.parse(wellFormed) as Json;
  if (isDeeper(json, levels)) throw tooDeep(levels);
  return json;
}

/** A value that is far too deep cannot even be serialized. */
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

/**
 * The value without the properties that are undefined, as JSON has it: by most types, such a property is one that is not
 * there. Everything else stays as it is, for `assertJson` to name; a value that changes is copied.
 */
export function withoutUndefined(value: unknown, ancestors: object[] = []): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (ancestors.length > MAX_DEPTH || ancestors.includes(value)) return value;
  if (!Array.isArray(value) && !isPlainObject(value)) return value;
  ancestors.push(value);
  const copy = Array.isArray(value) ? listWithout(value, ancestors) : objectWithout(value, ancestors);
  ancestors.pop();
  return copy;
}

function listWithout(list: readonly unknown[], ancestors: object[]): unknown {
  const items = list.map((item) => withoutUndefined(item, ancestors));
  return items.every((item, index) => item === list[index]) ? list : items;
}

function objectWithout(object: object, ancestors: object[]): unknown {
  const before = Object.entries(object);
  const after = before
    .filter(([, item]) => item !== undefined)
    .map(([key, item]) => [key, withoutUndefined(item, ancestors)] as const);
  const isSame =
    after.length === before.length && after.every(([, item], index) => item === before[index]?.[1]);
  // A copy would lose what makes `assertJson` refuse the object.
  if (isSame || Object.getOwnPropertySymbols(object).length > 0 || "toJSON" in object) return object;
  // fromEntries, not assignment: "__proto__" is a key like any other.
  return Object.fromEntries(after);
}

export function isJsonList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** True for an object that is no instance of a class. An object of another realm (`node:vm`, a test runner) is plain too. */
export function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || isForeignObjectPrototype(prototype);
}

/** The prototype of all objects of another realm. The one of a class that extends null has no such methods. */
function isForeignObjectPrototype(prototype: unknown): boolean {
  if (typeof prototype !== "object" || prototype === null) return false;
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, "isPrototypeOf");
}

/**
 * The type of a value after a round trip through JSON: dates become strings; functions and `undefined` are dropped from
 * objects, and become null elsewhere.
 */
export type Jsonified<T> = unknown extends T ? Json : [T] extends [Json] ? T : JsonifiedMember<T>;

/**
 * The type itself, if a value of it can be stored without a loss; else a type that it does not fit. A property that is
 * undefined counts as missing. Objects with methods (a `Map`, a `Set`, a `Date`, a `Uint8Array`) cannot be stored.
 */
export type Storable<T> = unknown extends T
  ? T
  : T extends bigint | symbol | ((...args: never[]) => unknown)
    ? never
    : T extends Json | undefined
      ? T
      : T extends readonly unknown[]
        ? { [K in keyof T]: StorableItem<T[K]> }
        : T extends object
          ? { [K in keyof T]: Storable<T[K]> }
          : never;

/** A list has no missing items. */
type StorableItem<T> = unknown extends T ? T : undefined extends T ? never : Storable<T>;

/** Of each member of a union by itself. */
type JsonifiedMember<T> = T extends Json
  ? T
  : T extends { toJSON(): infer J }
    ? J
    : T extends readonly unknown[]
      ? { -readonly [K in keyof T]: Jsonified<T[K]> }
      : T extends Dropped
        ? null
        : T extends object
          ? JsonifiedObject<T>
          : never;

type Dropped = void | symbol | ((...args: never[]) => unknown);

/** A property that may be undefined may be missing. */
type JsonifiedObject<T> = { [K in keyof T as WholeKey<T, K>]: Jsonified<T[K]> } & {
  [K in keyof T as PartialKey<T, K>]?: Jsonified<Exclude<T[K], Dropped>>;
} extends infer U
  ? { [K in keyof U]: U[K] }
  : never;

type WholeKey<T, K extends keyof T> = Extract<T[K], Dropped> extends never ? K : never;

type PartialKey<T, K extends keyof T> =
  Exclude<T[K], Dropped> extends never ? never : Exclude<K, WholeKey<T, K>>;
