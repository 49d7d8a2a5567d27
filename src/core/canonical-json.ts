import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import { NotJsonError } from "./errors.ts";
import type { Json } from "./json.ts";

/** Deeper than any honest payload, and shallow enough that no recursive reader of it runs out of stack. */
const MAX_DEPTH = 500;

/**
 * The one text of a JSON value (RFC 8785): sorted keys, no white space, one spelling of each number.
 * Two values are the same to Pawl exactly when these texts are equal.
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
  return createHash("sha256").update(canonicalJson(value), "utf8").digest();
}

export function sha256Hex(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex");
}

/**
 * Refuses what JSON would drop or bend in silence (`undefined`, functions, NaN, dates, class instances, cycles),
 * with the path of the culprit, so that nothing is lost between what was given and what is stored.
 */
export function assertJson(value: unknown, name = "The value"): asserts value is Json {
  check(value, "$", [], name);
}

function check(value: unknown, path: string, ancestors: object[], name: string): void {
  switch (typeof value) {
    case "string":
      if (!value.isWellFormed()) refuse(name, path, "a string with a lone surrogate");
      return;
    case "boolean":
      return;
    case "number":
      if (!Number.isFinite(value)) refuse(name, path, String(value));
      return;
    case "undefined":
      return refuse(name, path, "undefined");
    case "bigint":
      return refuse(name, path, "a BigInt");
    case "function":
      return refuse(name, path, "a function");
    case "symbol":
      return refuse(name, path, "a symbol");
    case "object":
      if (value !== null) checkContainer(value, path, ancestors, name);
  }
}

function checkContainer(value: object, path: string, ancestors: object[], name: string): void {
  if (ancestors.includes(value)) refuse(name, path, "a cycle");
  if (ancestors.length >= MAX_DEPTH) refuse(name, path, `nested deeper than ${MAX_DEPTH} levels`);
  if (!Array.isArray(value) && !isPlain(value)) refuse(name, path, describeInstance(value));
  // A plain object or an array can carry one, hidden even, and whatever writes JSON would call it.
  if ("toJSON" in value && typeof value.toJSON === "function") {
    refuse(name, path, "a value with a toJSON method (pass what it returns)");
  }
  ancestors.push(value);
  if (Array.isArray(value)) {
    // An index loop, not forEach: forEach skips holes, and a hole is an `undefined`.
    for (let i = 0; i < value.length; i++) check(value[i], `${path}[${i}]`, ancestors, name);
  } else {
    if (Object.getOwnPropertySymbols(value).length > 0) refuse(name, path, "an object with symbol keys");
    for (const key of Object.keys(value)) {
      const childPath = path + pathSegment(key);
      if (!key.isWellFormed()) refuse(name, childPath, "a key with a lone surrogate");
      check((value as Record<string, unknown>)[key], childPath, ancestors, name);
    }
  }
  ancestors.pop();
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function describeInstance(value: object): string {
  if (value instanceof Date) return "a Date (pass its ISO string or its milliseconds)";
  const name = (value as { constructor?: { name?: unknown } }).constructor?.name;
  return `an instance of ${typeof name === "string" && name !== "" ? name : "a class"} (pass a plain object)`;
}

function pathSegment(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

function refuse(name: string, path: string, what: string): never {
  throw new NotJsonError(`${name} is not JSON: ${path} is ${what}.`, { path });
}
