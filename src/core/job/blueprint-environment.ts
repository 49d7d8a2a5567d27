import { isJsonObject, type Json } from "../json.ts";
import type { SpecPath } from "./run-spec-field.ts";

/** `${NAME}` is an environment variable, `$${` is a literal `${`. */
const MARK = /\$\$\{|\$\{([^}]*)\}?/g;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The reason why a text cannot be filled in with any environment; null if it can. */
export function environmentProblem(text: string): string | null {
  for (const { 0: mark, 1: name } of text.matchAll(MARK)) {
    if (name === undefined || (mark.endsWith("}") && NAME.test(name))) continue;
    return `has ${JSON.stringify(mark)}, which names no variable: write \${NAME}, or $\${ for the two characters.`;
  }
  return null;
}

export type Environment = { readonly [name: string]: string | undefined };

/** A value with the environment variables in its texts filled in. */
export type Filled<T> = {
  readonly value: T;
  /** The variables that are not set, each once. */
  readonly missing: readonly string[];
  /** The values that were filled in: they must not be stored or shown. */
  readonly used: readonly string[];
};

export function fillEnvironment<T extends Json | { readonly [name: string]: unknown }>(
  value: T,
  environment: Environment,
): Filled<T> {
  const missing = new Set<string>();
  const used = new Set<string>();
  const fill = (text: string) =>
    text.replace(MARK, (mark: string, name: string | undefined) => {
      if (name === undefined) return "${";
      const found = Object.hasOwn(environment, name) ? environment[name] : undefined;
      if (found === undefined || found === "") {
        missing.add(name);
        return mark;
      }
      used.add(found);
      return found;
    });
  const filled = mapTexts(value as Json, fill) as T;
  return { value: filled, missing: [...missing], used: [...used] };
}

function mapTexts(value: Json, change: (text: string) => string): Json {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return (value as readonly Json[]).map((each) => mapTexts(each, change));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, mapTexts(each, change)]));
}

/** All texts of a value, with their paths. */
export function textsIn(value: Json, path: SpecPath = []): readonly (readonly [SpecPath, string])[] {
  if (typeof value === "string") return [[path, value]];
  if (Array.isArray(value))
    return (value as readonly Json[]).flatMap((each, index) => textsIn(each, [...path, index]));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, each]) => textsIn(each, [...path, name]));
}

/** The variables that the texts of a value name, each once. */
export function variablesIn(value: Json): readonly string[] {
  const names = textsIn(value).flatMap(([, text]) => [...text.matchAll(MARK)].map(([, name]) => name));
  return [...new Set(names)].filter((name) => name !== undefined);
}

/** A value without the fields that name a variable: they hold no secret, only where to find one. */
export function withoutVariables(value: Json): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map(withoutVariables);
  if (!isJsonObject(value)) return value;
  const kept = Object.entries(value).filter(([, each]) => typeof each !== "string" || !namesVariable(each));
  return Object.fromEntries(kept.map(([name, each]) => [name, withoutVariables(each)]));
}

function namesVariable(text: string): boolean {
  return [...text.matchAll(MARK)].some(([, name]) => name !== undefined);
}
