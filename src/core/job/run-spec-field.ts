import type { z } from "zod";
import { assertJson } from "../canonical-json.ts";
import { NotJsonError } from "../errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { normaliseKeyName } from "../naming/key-name.ts";
import { nearestName } from "../naming/nearest-name.ts";
import { zodJsonSchema } from "../zod-json-schema.ts";
import { inStyleOf, snakeCase } from "./run-spec-spelling.ts";

export type SpecPath = readonly (string | number)[];

/** One mistake: its path, in the spelling of the author, and what is wrong there. */
export type SpecProblem = { readonly path: SpecPath; readonly message: string };

/** The context of reading a value: where mistakes are reported, and what is known about the rest of the RunSpec. */
export type Reading = {
  readonly report: (path: SpecPath, message: string) => void;
  /** Where a field belongs that is in the wrong place: `maxSteps` in `budgets.maxSteps`. */
  readonly fieldPath: (name: string) => string | null;
  /** The whole value that the RunSpec is read from. */
  readonly whole: unknown;
  /** The tools that exist apart from those of MCP servers; null if unknown. */
  readonly tools: KnownTools | null;
};

/** The tools that a blueprint may name, and the checks of their settings. */
export type KnownTools = {
  readonly names: readonly string[];
  readonly settingsProblems: (tool: string, settings: JsonObject) => readonly SpecProblem[];
  /** The JSON Schema of its arguments; null if unknown. */
  readonly argumentSchema: (tool: string) => JsonObject | null;
};

/** One field of a RunSpec: its help, its JSON Schema and how it is read, in one place. */
export type Field<T> = {
  /** Its JSON Schema, for editors: made when it is asked for, since reading does not need it. */
  schema(): JsonObject;
  /** The default; null for a required field. */
  readonly absent: { readonly value: T } | null;
  /** The fields inside it, if it has any. */
  readonly fields: { readonly [name: string]: Field<unknown> };
  /** The value, or undefined if a mistake was reported. */
  read(value: unknown, path: SpecPath, reading: Reading): T | undefined;
};

export type Fields<T> = { readonly [K in keyof T]: Field<T[K]> };

/** What a single value must be. */
export type Rule<T> = {
  /** Made when it is first used: the rules of job files are part of every program. */
  readonly schema: () => z.ZodType<T>;
  /** Ends the sentence "must be …". */
  readonly must: string;
  /** Why a value of the right type is not allowed; null if it is. */
  readonly why?: (value: T) => string | null;
};

/** A single value: a text, a number, a boolean. */
export function single<T extends Json>(
  rule: Rule<T>,
  absent: Field<T>["absent"],
  description: string,
): Field<T> {
  return {
    schema: () => described(zodJsonSchema(rule.schema()), description, absent),
    absent,
    fields: {},
    read(value, path, { report }) {
      const checked = check(rule, value);
      if (checked.ok) return checked.value;
      report(path, checked.message);
      return undefined;
    },
  };
}

/** A field without a default, for fields that were added later: the stored RunSpecs of earlier runs stay equal. */
export function laterField<T extends Json>(rule: Rule<T>, description: string): Field<T | undefined> {
  return { ...single(rule, null, description), absent: { value: undefined } };
}

/** The same, for a field of any kind. */
export function addedLater<T>(field: Field<T>): Field<T | undefined> {
  const schema = () => {
    const { default: _, ...rest } = field.schema();
    return rest;
  };
  return { ...field, schema, absent: { value: undefined } };
}

/** Any JSON. */
export function anything(absent: Json, description: string): Field<Json> {
  return {
    schema: () => described({}, description, { value: absent }),
    absent: { value: absent },
    fields: {},
    read(value, path, { report }) {
      const notJson = findNotJson(value);
      if (notJson === null) return value as Json;
      report([...path, ...notJson.path], notJson.message);
      return undefined;
    },
  };
}

const MAX_ITEMS = 1_000;

/** A list of texts without duplicates, compared case-insensitively. Empty by default. */
export function listOf(rule: Rule<string>, what: string, description: string): Field<readonly string[]> {
  const absent = { value: [] };
  return {
    schema: () => {
      const items = zodJsonSchema(rule.schema());
      return described({ type: "array", items, uniqueItems: true, maxItems: MAX_ITEMS }, description, absent);
    },
    absent,
    fields: {},
    read(value, path, reading) {
      if (Array.isArray(value) && value.length <= MAX_ITEMS) return readItems(rule, value, path, reading);
      const given = Array.isArray(value) ? `one of ${value.length}` : shown(value);
      reading.report(path, `must be a list of at most ${MAX_ITEMS} ${what}, not ${given}.`);
      return undefined;
    },
  };
}

function readItems(
  rule: Rule<string>,
  items: readonly unknown[],
  path: SpecPath,
  { report }: Reading,
): readonly string[] {
  const firstAt = new Map<string, number>();
  const texts: string[] = [];
  for (const [index, item] of items.entries()) {
    const checked = check(rule, item);
    if (!checked.ok) {
      report([...path, index], checked.message);
      continue;
    }
    const folded = checked.value.toLowerCase();
    const first = firstAt.get(folded);
    if (first === undefined) firstAt.set(folded, index);
    else
      report([...path, index], `is ${shown(checked.value)}, the same as [${first}]: leave one of them out.`);
    texts.push(checked.value);
  }
  return texts;
}

type Checked<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly message: string };

function check<T>({ schema, must, why }: Rule<T>, value: unknown): Checked<T> {
  const parsed = schema().safeParse(value);
  if (!parsed.success) return { ok: false, message: `must be ${must}, not ${shown(value)}.` };
  const reason = why?.(parsed.data) ?? null;
  return reason === null
    ? { ok: true, value: parsed.data }
    : { ok: false, message: `cannot be ${shown(value)}: ${reason}.` };
}

/** An object of fields, each in camelCase or snake_case. `ignored` fields are allowed and have no effect; `what` names it in messages. */
export function objectOf<T extends object>(
  fields: Fields<T>,
  description: string,
  ignored: { readonly [name: string]: JsonObject } = {},
  what = "a RunSpec",
): Field<T> {
  const all = Object.entries<Field<unknown>>(fields);
  const spellings = new Map(all.flatMap(([name]) => [name, snakeCase(name)].map((each) => [each, name])));
  const isRequired = all.some(([, field]) => field.absent === null);
  return {
    schema: () => described(objectSchema(all, ignored), description, null),
    absent: isRequired ? null : { value: collect<T>(all, ({ absent: each }) => each?.value) },
    fields,
    read(value, path, reading) {
      if (!isJsonObject(value)) {
        const names = all.map(([name]) => name).join(", ");
        reading.report(path, `must be an object, not ${shown(value)}: its fields are ${names}.`);
        return undefined;
      }
      const given = Object.keys(value).filter((name) => !Object.hasOwn(ignored, name));
      const written = spelledAs(given, spellings, path, reading);
      return collect<T>(all, (field, name) => {
        const key = written.get(name);
        if (key !== undefined) return field.read(value[key], [...path, key], reading);
        if (field.absent === null) {
          reading.report([...path, name], `is missing: ${what} needs it.`);
        }
        return field.absent?.value;
      });
    },
  };
}

/** Accepts each field in both spellings, and no others. */
function objectSchema(
  fields: readonly (readonly [string, Field<unknown>])[],
  ignored: { readonly [name: string]: JsonObject },
): JsonObject {
  const needed = fields.filter(([, field]) => field.absent === null).map(([name]) => name);
  const required = needed.filter((name) => snakeCase(name) === name);
  const eitherSpelling = needed
    .filter((name) => snakeCase(name) !== name)
    .map((name) => ({ anyOf: [{ required: [name] }, { required: [snakeCase(name)] }] }));
  const properties = Object.fromEntries(
    fields.flatMap(([name, field]) => {
      const schema = field.schema();
      return [name, snakeCase(name)].map((each) => [each, schema]);
    }),
  );
  return {
    type: "object",
    properties: { ...ignored, ...properties },
    ...(required.length > 0 ? { required } : {}),
    ...(eitherSpelling.length > 0 ? { allOf: eitherSpelling } : {}),
    additionalProperties: false,
  };
}

/** The spelling that the author used for each field. */
function spelledAs(
  given: readonly string[],
  spellings: ReadonlyMap<string, string>,
  path: SpecPath,
  reading: Reading,
): ReadonlyMap<string, string> {
  const written = new Map<string, string>();
  for (const name of given) {
    const field = spellings.get(name);
    if (field === undefined) {
      reading.report([...path, name], unknownField(name, path, new Set(spellings.values()), reading));
      continue;
    }
    const other = written.get(field);
    if (other === undefined) written.set(field, name);
    else reading.report([...path, name], `is the same field as ${other}: leave one of them out.`);
  }
  return written;
}

/** The cast is safe: the type of `fields` has the type of each value, which a list of entries cannot express. */
function collect<T>(
  fields: readonly (readonly [string, Field<unknown>])[],
  valueOf: (field: Field<unknown>, name: string) => unknown,
): T {
  const values = fields.map(([name, field]) => [name, valueOf(field, name)] as const);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as T;
}

function unknownField(
  name: string,
  path: SpecPath,
  fields: ReadonlySet<string>,
  { fieldPath }: Reading,
): string {
  const what = `is no field of ${path.length === 0 ? "a RunSpec" : pathText(path)}`;
  const elsewhere = fieldPath(name);
  const near = nearestName(name, [...fields]);
  // An exact name elsewhere is more likely than a similar one here.
  if (elsewhere !== null && (near === null || normaliseKeyName(near) !== normaliseKeyName(name))) {
    return `${what}: did you mean ${inStyleOf(name, elsewhere)}${elsewhere.includes(".") ? "" : " at the top level"}?`;
  }
  return near === null
    ? `${what}: it has ${[...fields].join(", ")}.`
    : `${what}: did you mean ${inStyleOf(name, near)}?`;
}

/** The path of each field, by its normalized name: `maxsteps` is at `budgets.maxSteps`. */
export function fieldPaths(fields: Field<unknown>["fields"], prefix = ""): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(fields).flatMap(([name, field]) => [
      [normaliseKeyName(name), `${prefix}${name}`] as const,
      ...fieldPaths(field.fields, `${prefix}${name}.`),
    ]),
  );
}

export function described(
  schema: JsonObject,
  description: string,
  absent: Field<unknown>["absent"],
): JsonObject {
  // The default is JSON here: it is the value of a field of a RunSpec.
  return { description, ...schema, ...(absent === null ? {} : { default: absent.value as Json }) };
}

/** The first value that is not JSON: its path, and what it is. */
export function findNotJson(value: unknown): SpecProblem | null {
  try {
    assertJson(value, "It");
    return null;
  } catch (error) {
    if (!NotJsonError.isInstance(error)) throw error;
    const { path } = error.details;
    return { path: pathOf(path), message: error.message.slice(`It is not JSON: ${path} `.length) };
  }
}

/** The segments of `$.input["a b"][0]`, the form in the error. */
function pathOf(text: string): SpecPath {
  return [...text.matchAll(/\.([\w$]+)|\[(\d+|"(?:[^"\\]|\\.)*")\]/g)].map(
    ([, name, literal]) => name ?? (JSON.parse(literal ?? "0") as string | number),
  );
}

const MAX_SHOWN = 60;

/** A value in a message: short, and in one line. */
export function shown(value: unknown): string {
  if (typeof value === "string") {
    return value.length > MAX_SHOWN
      ? `a text of ${value.length} characters`
      : `the text ${JSON.stringify(value)}`;
  }
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  return typeof value === "function" || typeof value === "symbol" ? `a ${typeof value}` : String(value);
}

const LONGEST_PATH = 200;

/** `constraints.allowedDomains[1]`. */
export function pathText(path: SpecPath): string {
  const text = path.map(segmentText).join("").replace(/^\./, "");
  return text.length > LONGEST_PATH ? `${text.slice(0, LONGEST_PATH)}…` : text;
}

function segmentText(segment: string | number): string {
  if (typeof segment === "number") return `[${segment}]`;
  return /^[\w$-]+$/.test(segment) ? `.${segment}` : `[${JSON.stringify(segment)}]`;
}
