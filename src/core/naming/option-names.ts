import { ConfigurationError } from "../errors.ts";
import { isPlainObject } from "../json.ts";
import { nearestName } from "./nearest-name.ts";

type NamesIn<T> = T extends unknown ? keyof T : never;

/**
 * All names of an options type, for `satisfies`: the compiler reports a name that is missing and one that the type does not
 * have, so a list of names cannot differ from its type.
 */
export type OptionNames<T> = { readonly [K in NamesIn<T>]: true };

/**
 * Names that people write by habit from other libraries, with the name that the option has here; or a sentence with a full
 * stop, if there is no such option.
 */
export type OtherNames = { readonly [written: string]: string };

/** More names than this do not help in a sentence. */
const MOST_LISTED = 16;

/**
 * The sentence about a name that does not exist.
 *
 * @example
 * unknownOption("A budget", "token", ["tokens", "microDollars"]); // 'A budget has no "token": did you mean tokens?'
 */
export function unknownOption(
  what: string,
  written: string,
  names: readonly string[],
  otherNames: OtherNames = {},
): string {
  const other = Object.hasOwn(otherNames, written) ? otherNames[written] : undefined;
  const near = other ?? nearestName(written, names);
  const advice = near === null ? listed(names) : near.endsWith(".") ? near : `did you mean ${near}?`;
  return `${what} has no ${JSON.stringify(written)}: ${advice}`;
}

function listed(names: readonly string[]): string {
  if (names.length === 0) return "it takes no options.";
  if (names.length > MOST_LISTED) return "correct its name, or leave it out.";
  return `use ${names.length === 1 ? "" : "one of "}${names.join(", ")}.`;
}

/**
 * Refuses options with an unknown name: an option that is silently ignored may be one that the caller relies on. A value of
 * `undefined` counts as not given. The names of an instance of a class are checked as well: it may be a policy.
 */
export function assertOptions(
  what: string,
  given: unknown,
  known: { readonly [name: string]: unknown },
  otherNames: OtherNames = {},
): void {
  assertLooksLikeOptions(what, given, Object.keys(known));
  assertNames(what, given, known, otherNames, () => true);
}

/**
 * `assertOptions` for options that may be an instance of a class with fields of its own, such as the client of a tool. Of
 * its fields, only those are refused whose name may be a misspelt option.
 */
export function assertOptionsOrInstance(
  what: string,
  given: unknown,
  known: { readonly [name: string]: unknown },
  otherNames: OtherNames = {},
): void {
  const names = Object.keys(known);
  assertLooksLikeOptions(what, given, names);
  const isInstance = !isPlainObject(given);
  const isMisspelt = (name: string) =>
    !isInstance || (name.length >= LEAST_MISSPELT && nearestName(name, names) !== null);
  assertNames(what, given, known, otherNames, isMisspelt);
}

/**
 * The options of these names that are given, as a plain object. A spread would lose what an instance inherits, such as a
 * getter, and would put `undefined` in the place of a default.
 */
export function givenOptions<T extends object>(options: T, names: { readonly [name: string]: unknown }): T {
  const all = Object.keys(names).map((name) => [name, (options as Record<string, unknown>)[name]] as const);
  // The cast is safe: an option that is undefined counts as not given.
  return Object.fromEntries(all.filter(([, value]) => value !== undefined)) as T;
}

/** A field with a shorter name than this may well be what it says: `url` is not a misspelt `urls`. */
const LEAST_MISSPELT = 5;

function assertNames(
  what: string,
  given: object,
  known: { readonly [name: string]: unknown },
  otherNames: OtherNames,
  isRefused: (name: string) => boolean,
): void {
  // Inherited ones as well: the code that reads an option gets them too. Methods of a class are not enumerable.
  for (const name in given) {
    if (Object.hasOwn(known, name) || (given as { readonly [name: string]: unknown })[name] === undefined)
      continue;
    if (isRefused(name))
      throw new ConfigurationError(unknownOption(what, name, Object.keys(known), otherNames));
  }
}

/** An instance of a class with none of the options is something else, such as a store. */
function assertLooksLikeOptions(
  what: string,
  given: unknown,
  names: readonly string[],
): asserts given is object {
  const isObject = typeof given === "object" && given !== null;
  if (isObject && (isPlainObject(given) || names.some((name) => name in given))) return;
  throw new ConfigurationError(
    `${what} is ${kindOf(given)}: give an object with named options${names[0] === undefined ? "" : `, such as { ${names[0]} }`}.`,
  );
}

/** The kind of a value, for a sentence about a wrong one. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "a list";
  if (typeof value !== "object") return `a ${typeof value}`;
  if (value instanceof Promise) return "a promise";
  const { constructor }: { readonly constructor?: { readonly name?: unknown } } = value;
  const name = constructor?.name;
  if (typeof name !== "string" || name === "" || name === "Object") return "an object";
  return `${/^[AEIOU]/.test(name) ? "an" : "a"} ${name}`;
}
