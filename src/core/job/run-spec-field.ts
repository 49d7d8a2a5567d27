import type { z } from "zod";
import { assertJson } from "../canonical-json.ts";
import { NotJsonError } from "../errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { normaliseKeyName } from "../secret/redaction.ts";
import { zodJsonSchema } from "../zod-json-schema.ts";
import { inStyleOf, nearestName, snakeCase } from "./run-spec-spelling.ts";

export type SpecPath = readonly (string | number)[];

/** One mistake: where it is, in the spelling it was written in, and what is wrong there. */
export type SpecProblem = { readonly path: SpecPath; readonly message: string };

/** What goes on while a value is read: the mistakes so far, and where a name that is misplaced belongs. */
export type Reading = {
  readonly report: (path: SpecPath, message: string) => void;
  readonly placeOf: (name: string) => string | null;
  /** What the whole RunSpec was read from. */
  readonly whole: unknown;
  /** The tools that there are beside those of MCP servers; null where nobody knows. */
  readonly tools: KnownTools | null;
};

/** The tools that a blueprint may name, and what is wrong with the settings that it gives one of them. */
export type KnownTools = {
  readonly names: readonly string[];
  readonly settingsProblems: (tool: string, settings: JsonObject) => readonly SpecProblem[];
  /** The JSON Schema of its arguments; null where that is not known. */
  readonly argumentSchema: (tool: string) => JsonObject | null;
};

/** One field of a RunSpec: its help, its JSON Schema and how it is read, from one place. */
export type Field<T> = {
  readonly schema: JsonObject;
  /** What holds where nothing is written; null in a field that has to be written. */
  readonly absent: { readonly value: T } | null;
  /** The fields inside it, where it has some. */
  readonly fields: { readonly [name: string]: Field<unknown> };
  /** The value, or undefined when a mistake was reported. */
  read(value: unknown, path: SpecPath, reading: Reading): T | undefined;
};

export type Fields<T> = { readonly [K in keyof T]: Field<T[K]> };

/** What a single value must be. */
export type Rule<T> = {
  readonly schema: z.ZodType<T>;
  /** Ends the sentence "must be …". */
  readonly must: string;
  /** Why a value of the right kind will not do; null where it does. */
  readonly why?: (value: T) => string | null;
};

/** A single value: a text, a number, a boolean. */
export function single<T extends Json>(
  rule: Rule<T>,
  absent: Field<T>["absent"],
  description: string,
): Field<T> {
  return {
    schema: described(zodJsonSchema(rule.schema), description, absent),
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

/** One that is left out of what is read unless it is written, as fields are that came later: what runs began with stays equal. */
export function laterField<T extends Json>(rule: Rule<T>, description: string): Field<T | undefined> {
  return { ...single(rule, null, description), absent: { value: undefined } };
}

/** Any JSON. */
export function anything(absent: Json, description: string): Field<Json> {
  return {
    schema: described({}, description, { value: absent }),
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

/** A list of texts, none of them twice in either case: none unless some are given. */
export function listOf(rule: Rule<string>, what: string, description: string): Field<readonly string[]> {
  const items = zodJsonSchema(rule.schema);
  const absent = { value: [] };
  return {
    schema: described({ type: "array", items, uniqueItems: true, maxItems: MAX_ITEMS }, description, absent),
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
      report(
        [...path, index],
        `is ${shown(checked.value)}, as [${first}] is already: leave one of them out.`,
      );
    texts.push(checked.value);
  }
  return texts;
}

type Checked<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly message: string };

function check<T>({ schema, must, why }: Rule<T>, value: unknown): Checked<T> {
  const parsed = schema.safeParse(value);
  if (!parsed.success) return { ok: false, message: `must be ${must}, not ${shown(value)}.` };
  const reason = why?.(parsed.data) ?? null;
  return reason === null
    ? { ok: true, value: parsed.data }
    : { ok: false, message: `cannot be ${shown(value)}: ${reason}.` };
}

/** An object of fields, each in camelCase or snake_case. `ignored` names may be there and say nothing; `what` it is, for people. */
export function objectOf<T extends object>(
  fields: Fields<T>,
  description: string,
  ignored: { readonly [name: string]: JsonObject } = {},
  what = "a RunSpec",
): Field<T> {
  const all = Object.entries<Field<unknown>>(fields);
  const spellings = new Map(all.flatMap(([name]) => [name, snakeCase(name)].map((each) => [each, name])));
  const required = all.filter(([, field]) => field.absent === null).map(([name]) => name);
  const absent = required.length > 0 ? null : { value: collect<T>(all, ({ absent: each }) => each?.value) };
  const properties = Object.fromEntries(
    all.flatMap(([name, { schema }]) => [name, snakeCase(name)].map((each) => [each, schema])),
  );
  return {
    schema: described(
      {
        type: "object",
        properties: { ...ignored, ...properties },
        ...(required.length > 0 ? { required } : {}),
        additionalProperties: false,
      },
      description,
      null,
    ),
    absent,
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
          reading.report([...path, name], `is missing: ${what} cannot do without it.`);
        }
        return field.absent?.value;
      });
    },
  };
}

/** Under which of its spellings each field was written. */
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

/** The type of `fields` says which value each name has, and a list of entries cannot. */
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
  { placeOf }: Reading,
): string {
  const what = `is no field of ${path.length === 0 ? "a RunSpec" : pathText(path)}`;
  const place = placeOf(name);
  const near = nearestName(name, [...fields]);
  // A name that is right elsewhere beats one that is nearly right here.
  if (place !== null && (near === null || normaliseKeyName(near) !== normaliseKeyName(name))) {
    return `${what}: did you mean ${inStyleOf(name, place)}${place.includes(".") ? "" : " at the top level"}?`;
  }
  return near === null
    ? `${what}: it has ${[...fields].join(", ")}.`
    : `${what}: did you mean ${inStyleOf(name, near)}?`;
}

/** Where each field is, by its name without regard to style: `maxsteps` is at `budgets.maxSteps`. */
export function placesOf(fields: Field<unknown>["fields"], prefix = ""): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(fields).flatMap(([name, field]) => [
      [normaliseKeyName(name), `${prefix}${name}`] as const,
      ...placesOf(field.fields, `${prefix}${name}.`),
    ]),
  );
}

export function described(
  schema: JsonObject,
  description: string,
  absent: Field<unknown>["absent"],
): JsonObject {
  // What is absent is JSON here: it is the value of a field of a RunSpec.
  return { description, ...schema, ...(absent === null ? {} : { default: absent.value as Json }) };
}

/** Where something is that JSON cannot carry, and what it is. */
export function findNotJson(value: unknown): SpecProblem | null {
  try {
    assertJson(value, "It");
    return null;
  } catch (error) {
    if (!(error instanceof NotJsonError)) throw error;
    const { path } = error.details;
    return { path: pathOf(path), message: error.message.slice(`It is not JSON: ${path} `.length) };
  }
}

/** `$.input["a b"][0]`, as the error has it, taken apart. */
function pathOf(text: string): SpecPath {
  return [...text.matchAll(/\.([\w$]+)|\[(\d+|"(?:[^"\\]|\\.)*")\]/g)].map(
    ([, name, literal]) => name ?? (JSON.parse(literal ?? "0") as string | number),
  );
}

const MAX_SHOWN = 60;

/** A value as a message shows it: short, and in one line. */
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
