import { ConfigurationError } from "../errors.ts";
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
 * `undefined` counts as not given.
 */
export function assertOptions(
  what: string,
  given: unknown,
  known: { readonly [name: string]: unknown },
  otherNames: OtherNames = {},
): void {
  const names = Object.keys(known);
  if (typeof given !== "object" || given === null || !looksLikeOptions(given, names))
    throw new ConfigurationError(
      `${what} is ${kindOf(given)}: give an object with named options${names[0] === undefined ? "" : `, such as { ${names[0]} }`}.`,
    );
  if (!isPlain(given)) return;
  const unknown = Object.entries(given).find(
    ([name, value]) => value !== undefined && !Object.hasOwn(known, name),
  );
  if (unknown === undefined) return;
  throw new ConfigurationError(unknownOption(what, unknown[0], names, otherNames));
}

/** An instance of a class may have fields of its own; with none of the options it is something else, such as a store. */
function looksLikeOptions(given: object, names: readonly string[]): boolean {
  return isPlain(given) || names.some((name) => name in given);
}

function isPlain(given: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(given);
  return prototype === null || prototype === Object.prototype;
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
