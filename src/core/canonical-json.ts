import { hash } from "node:crypto";
import canonicalize from "canonicalize";
import { ConfigurationError, NotJsonError } from "./errors.ts";
import { isPlainObject, type Json, MAX_DEPTH, MAX_PAYLOAD_DEPTH } from "./json.ts";

/**
 * The canonical text of a JSON value (RFC 8785): sorted keys, no white space, one spelling of each number.
 * Pawl treats two values as the same exactly when these texts are equal.
 *
 * @example
 * canonicalJson({ b: 1, a: [true] }); // '{"a":[true],"b":1}'
 */
export function canonicalJson(value: unknown): string {
  assertJson(value);
  const text = canonicalize(value);
  if (text === undefined) throw new NotJsonError("The value is not JSON.", { path: "$" });
  return text;
}

/** SHA-256 of the canonical text, as bytes. */
export function canonicalHash(value: unknown): Buffer {
  return hash("sha256", canonicalJson(value), "buffer");
}

export function sha256Hex(text: string): string {
  return hash("sha256", text, "hex");
}

/**
 * Refuses values that JSON would silently drop or change (`undefined`, functions, NaN, dates, class instances, cycles),
 * and names the path of the culprit, so that the stored value is always the value that was passed in.
 */
export function assertJson(value: unknown, name = "The value"): asserts value is Json {
  const culprit = findCulprit(value, []);
  if (culprit === null) return;
  const path = `$${culprit.path.map(pathSegment).join("")}`;
  throw new NotJsonError(`${name} is not JSON: ${path} is ${culprit.what}.`, { path });
}

/** Checks a value that will be stored and sent as part of something larger: it must be less deep than JSON may be. */
export function assertPayload(value: unknown, name: string): asserts value is Json {
  const deep = findCulprit(value, [], MAX_PAYLOAD_DEPTH);
  if (deep?.isTooDeep !== true) return assertJson(value, name);
  const path = `$${deep.path.map(pathSegment).join("")}`;
  throw new ConfigurationError(
    `${name} is nested deeper than ${MAX_PAYLOAD_DEPTH} levels, at ${path.slice(0, SHOWN_PATH)}…: make it flatter, or pass it as a string.`,
    { path },
  );
}

/**
 * Refuses a value that JSON would change beyond recognition: a Map or a Set becomes `{}`, NaN becomes null, and a function
 * is dropped. What says itself how it is written (`toJSON`, as a date does) is kept, and so are the fields of instances.
 */
export function assertKeptByJson(value: unknown): void {
  const paths = new Map<unknown, string>();
  JSON.stringify(value, function check(this: unknown, key: string, item: unknown): unknown {
    const holder = paths.get(this);
    const path =
      holder === undefined ? "$" : `${holder}${pathSegment(Array.isArray(this) ? Number(key) : key)}`;
    const loss = lossOf(item);
    if (loss !== null) throw new NotJsonError(`${path} is ${loss}`, { path });
    if (typeof item === "object" && item !== null) paths.set(item, path);
    return item;
  });
}

/** What JSON cannot hold, of a value itself; null if it can. */
function lossOf(item: unknown): string | null {
  if (typeof item === "number") return Number.isFinite(item) ? null : String(item);
  if (typeof item === "function" || typeof item === "symbol") return `a ${typeof item}`;
  if (typeof item !== "object" || item === null || Array.isArray(item)) return null;
  // Built-in objects with contents of their own have a tag: [object Map].
  const tag = Object.prototype.toString.call(item);
  return tag === "[object Object]" ? null : describeInstance(item);
}

/** The path of a value that is too deep is long: only this many characters of it are shown. */
const SHOWN_PATH = 100;

export function isJson(value: unknown): value is Json {
  return findCulprit(value, []) === null;
}

/** The path is built on the way back from the culprit, so that valid JSON, the usual case, needs none. */
type Culprit = {
  readonly path: (string | number)[];
  readonly what: string;
  readonly isTooDeep?: true;
};

function findCulprit(value: unknown, ancestors: object[], levels = MAX_DEPTH): Culprit | null {
  switch (typeof value) {
    case "string":
      return value.isWellFormed() ? null : culprit("a string with a lone surrogate");
    case "boolean":
      return null;
    case "number":
      return Number.isFinite(value) ? null : culprit(String(value));
    case "undefined":
      return culprit("undefined");
    case "bigint":
      return culprit("a BigInt");
    case "function":
      return culprit("a function");
    case "symbol":
      return culprit("a symbol");
    case "object":
      return value === null ? null : findInContainer(value, ancestors, levels);
  }
}

function culprit(what: string): Culprit {
  return { path: [], what };
}

function findInContainer(value: object, ancestors: object[], levels: number): Culprit | null {
  if (ancestors.includes(value)) return culprit("a cycle");
  if (ancestors.length >= levels)
    return { path: [], what: `nested deeper than ${levels} levels`, isTooDeep: true };
  if (!Array.isArray(value) && !isPlainObject(value)) return culprit(describeInstance(value));
  // A plain object or an array can have one too, even a hidden one, and JSON.stringify would call it.
  if ("toJSON" in value && typeof value.toJSON === "function") {
    return culprit("a value with a toJSON method (pass what it returns)");
  }
  ancestors.push(value);
  const found = Array.isArray(value)
    ? findInArray(value, ancestors, levels)
    : findInObject(value, ancestors, levels);
  ancestors.pop();
  return found;
}

/** An index loop, not forEach: forEach skips holes, and a hole is an `undefined`. */
function findInArray(value: readonly unknown[], ancestors: object[], levels: number): Culprit | null {
  for (let i = 0; i < value.length; i++) {
    const found = findCulprit(value[i], ancestors, levels);
    if (found !== null) return at(i, found);
  }
  return null;
}

function findInObject(value: object, ancestors: object[], levels: number): Culprit | null {
  if (Object.getOwnPropertySymbols(value).length > 0) return culprit("an object with symbol keys");
  for (const key of Object.keys(value)) {
    const found = key.isWellFormed()
      ? findCulprit((value as Record<string, unknown>)[key], ancestors, levels)
      : culprit("a key with a lone surrogate");
    if (found !== null) return at(key, found);
  }
  return null;
}

function at(key: string | number, found: Culprit): Culprit {
  found.path.unshift(key);
  return found;
}

function describeInstance(value: object): string {
  if (value instanceof Date) return "a Date (pass its ISO string or its milliseconds)";
  const name = (value as { constructor?: { name?: unknown } }).constructor?.name;
  return `an instance of ${typeof name === "string" && name !== "" ? name : "a class"} (pass a plain object)`;
}

function pathSegment(key: string | number): string {
  if (typeof key === "number") return `[${key}]`;
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}
