import { z } from "zod";
import { ConfigurationError } from "../core/errors.ts";
import type { Json } from "../core/json.ts";
import { assertOptions, type OptionNames } from "../core/naming/option-names.ts";
import type { SessionEvent } from "../core/session-event.ts";

/**
 * Returns the values of a slice after an event: a new list, or the same one if nothing changes. Pure: it changes neither its
 * values (they are frozen) nor anything else. Declared so that the event may be annotated with its own type.
 */
export type Reducer<T> = {
  bivariant(values: readonly T[], event: SessionEvent): readonly T[];
}["bivariant"];

/** `state` is part of snapshots and restored from them; a `log` is not, and a rollback does not change it. */
export type SliceKind = "state" | "log";

/** Converts the values of the previous version. */
type SliceMigration = (values: readonly Json[]) => readonly Json[];

/** A named, typed part of a session: a list of JSON values that only reducers change. */
export type Slice<T = unknown> = {
  readonly name: string;
  readonly kind: SliceKind;
  readonly version: number;
  readonly schema: z.ZodType<T>;
  readonly reducers: { readonly [eventType: string]: Reducer<T> };
  readonly migrations: { readonly [toVersion: number]: SliceMigration };
};

export type SliceDefinition<T> = {
  readonly name: string;
  /** The schema of one value. */
  readonly schema: z.ZodType<T>;
  /** "state" by default. */
  readonly kind?: SliceKind;
  /** 1 by default; raise it, with a migration, when stored values no longer fit the schema. */
  readonly version?: number;
  readonly reducers?: { readonly [eventType: string]: Reducer<NoInfer<T>> };
  readonly migrations?: { readonly [toVersion: number]: SliceMigration };
};

const SLICE_NAMES = {
  name: true,
  schema: true,
  kind: true,
  version: true,
  reducers: true,
  migrations: true,
} satisfies OptionNames<SliceDefinition<unknown>>;

/**
 * A slice of a session.
 *
 * @example
 * const findings = defineSlice({
 *   name: "findings",
 *   schema: z.object({ file: z.string(), summary: z.string() }),
 *   reducers: {
 *     FileAnalysed: upsertBy(
 *       ({ file }) => file,
 *       ({ file, summary }: { type: "FileAnalysed"; file: string; summary: string }) => ({ file, summary }),
 *     ),
 *   },
 * });
 */
export function defineSlice<T>(definition: SliceDefinition<T>): Slice<T> {
  assertOptions("The argument of defineSlice", definition, SLICE_NAMES);
  assertSliceName(definition.name);
  assertStorableSchema(definition.name, definition.schema);
  return builtInSlice(definition);
}

/** `defineSlice` for Pawl's own slices, whose schemas need no check at run time: it would be a part of every start. */
export function builtInSlice<T>(definition: SliceDefinition<T>): Slice<T> {
  const { name, schema, kind = "state", version = 1, reducers = {}, migrations = {} } = definition;
  if (!["state", "log"].includes(kind))
    throw new ConfigurationError(`Slice ${name} has the kind ${JSON.stringify(kind)}: use "state" or "log".`);
  if (!Number.isSafeInteger(version) || version < 1)
    throw new ConfigurationError(
      `The version of slice ${name} is ${version}: give a whole number from 1 on.`,
    );
  for (const [type, reducer] of Object.entries(reducers)) {
    if (typeof reducer !== "function")
      throw new ConfigurationError(
        `The reducer of slice ${name} for ${type} is not a function: give it one.`,
      );
  }
  assertMigrations(name, version, migrations);
  return Object.freeze({
    name,
    kind,
    version,
    schema,
    reducers: Object.freeze({ ...reducers }),
    migrations: Object.freeze({ ...migrations }),
  });
}

/** Appends the value that it makes of the event. */
export function append<T, E extends SessionEvent = SessionEvent>(value: (event: E) => T): Reducer<T> {
  return (values: readonly T[], event: E) => [...values, value(event)];
}

/** Replaces all values of the slice with this one. */
export function replaceLatest<T, E extends SessionEvent = SessionEvent>(value: (event: E) => T): Reducer<T> {
  return (_values: readonly T[], event: E) => [value(event)];
}

/** Replaces the value with the same key, or appends it if there is none. */
export function upsertBy<T, E extends SessionEvent = SessionEvent>(
  key: (value: T) => string | number,
  value: (event: E) => T,
): Reducer<T> {
  return (values: readonly T[], event: E) => {
    const added = value(event);
    const index = values.findIndex((old) => key(old) === key(added));
    return index === -1 ? [...values, added] : values.with(index, added);
  };
}

const NAME = /^[A-Za-z][\w.-]{0,99}$/;

function assertSliceName(name: unknown): void {
  if (typeof name === "string" && NAME.test(name)) return;
  throw new ConfigurationError(
    `${JSON.stringify(name) ?? String(name)} cannot name a slice: use 1 to 100 letters, digits, "_", "-" or ".", beginning with a letter.`,
  );
}

/** Stored values are parsed again with the same schema, so they must be JSON, and parse to themselves. */
function assertStorableSchema(name: string, schema: unknown): void {
  if (!isZodSchema(schema))
    throw new ConfigurationError(`Slice ${name} needs a zod schema of its values: z.object({ … }), say.`);
  try {
    // Each of the two skips one side of a pipe.
    z.toJSONSchema(schema, { io: "output", override: assertNoTransform });
    z.toJSONSchema(schema, { io: "input", override: assertNoTransform });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigurationError(
      `The schema of slice ${name} has no JSON form: ${why}; use what JSON has, a text for a date, an object for a map.`,
      { slice: name },
      { cause: error },
    );
  }
}

function isZodSchema(schema: unknown): schema is z.ZodType {
  return typeof schema === "object" && schema !== null && "_zod" in schema;
}

function assertNoTransform({ zodSchema }: { readonly zodSchema: z.core.$ZodTypes }): void {
  const { def } = zodSchema._zod;
  const types = def.type === "pipe" ? [def.in._zod.def.type, def.out._zod.def.type] : [def.type];
  if (types.includes("transform") || "reverseTransform" in def)
    throw new Error("a transform would be applied again to what is stored");
  if (def.type === "promise" || def.type === "file") throw new Error(`a ${def.type} cannot be stored`);
}

/** The first migration needs every later one, up to the version of the slice. */
function assertMigrations(name: string, version: number, migrations: Slice["migrations"]): void {
  const given = Object.keys(migrations).map(Number);
  for (const target of given) {
    if (Number.isSafeInteger(target) && target >= 2 && target <= version) continue;
    throw new ConfigurationError(
      `Slice ${name} has a migration to version ${target}, and its versions go from 1 to ${version}: name each by the version that it leads to.`,
    );
  }
  for (let target = Math.min(...given); target <= version; target++) {
    if (typeof migrations[target] === "function") continue;
    throw new ConfigurationError(
      `Slice ${name} has no migration to version ${target}: give one, or none of those before it.`,
    );
  }
}
