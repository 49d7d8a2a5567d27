import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { nearestName } from "../naming/nearest-name.ts";
import { described, type Field, type Rule, type SpecPath, shown, single } from "./run-spec-field.ts";

const MAX_ITEMS = 1_000;

/** Values by names that the author of the file chooses. */
export function mapOf<T>(
  name: Rule<string>,
  item: Field<T>,
  description: string,
): Field<{ readonly [name: string]: T }> {
  const absent = { value: {} };
  const names = single(name, null, "");
  return {
    schema: () => described({ type: "object", additionalProperties: item.schema() }, description, absent),
    absent,
    fields: {},
    read(value, path, reading) {
      if (!isJsonObject(value)) {
        reading.report(path, `must be an object, not ${shown(value)}.`);
        return undefined;
      }
      const entries = Object.entries(value).map(([key, each]) => {
        const keyPath = [...path, key];
        const isNamed =
          names.read(key, keyPath, {
            ...reading,
            report: (_, message) => reading.report(keyPath, `its name ${message}`),
          }) !== undefined;
        return [key, isNamed ? item.read(each, keyPath, reading) : undefined] as const;
      });
      // An undefined value means that a mistake was reported, and then the whole result is discarded.
      return Object.fromEntries(entries) as { readonly [name: string]: T };
    },
  };
}

/** A list of values. */
export function itemsOf<T>(
  item: Pick<Field<T>, "schema" | "read">,
  what: string,
  least: 0 | 1,
  description: string,
): Field<readonly T[]> {
  const absent = least === 0 ? { value: [] } : null;
  return {
    schema: () => {
      const limits = { maxItems: MAX_ITEMS, ...(least === 0 ? {} : { minItems: least }) };
      return described({ type: "array", items: item.schema(), ...limits }, description, absent);
    },
    absent,
    fields: {},
    read(value, path, reading) {
      if (!Array.isArray(value) || value.length > MAX_ITEMS || value.length < least) {
        const given = Array.isArray(value) ? `one of ${value.length}` : shown(value);
        reading.report(path, `must be a list of ${least} to ${MAX_ITEMS} ${what}, not ${given}.`);
        return undefined;
      }
      // Undefined values are as in `mapOf`.
      return value.map((each, index) => item.read(each, [...path, index], reading)) as readonly T[];
    },
  };
}

/** Any JSON object. */
export function anyObject(description: string, absent: Field<JsonObject>["absent"]): Field<JsonObject> {
  return {
    schema: () => described({ type: "object" }, description, absent),
    absent,
    fields: {},
    read(value, path, { report }) {
      if (isJsonObject(value)) return value;
      report(path, `must be an object, not ${shown(value)}.`);
      return undefined;
    },
  };
}

/** A field that may be left out or null. */
export function orNull<T extends Json | object>(field: Field<T>): Field<T | null> {
  return {
    ...field,
    schema: () => {
      const schema = field.schema();
      return { description: schema.description ?? "", anyOf: [schema, { type: "null" }], default: null };
    },
    absent: { value: null },
    read: (value, path, reading) => (value === null ? null : field.read(value, path, reading)),
  };
}

/** An object of one of several kinds, each recognized by a field that only it has. */
export function kindOf<T>(
  kinds: { readonly [field: string]: Field<T> },
  what: string,
  description: string,
): Field<T> {
  const kindFields = Object.keys(kinds);
  return {
    schema: () => described({ anyOf: Object.values(kinds).map((kind) => kind.schema()) }, description, null),
    absent: null,
    fields: {},
    read(value, path, reading) {
      if (!isJsonObject(value)) {
        reading.report(path, `must be an object, not ${shown(value)}: ${what} has ${either(kindFields)}.`);
        return undefined;
      }
      const [kind, second] = kindFields.filter((field) => Object.hasOwn(value, field));
      if (kind === undefined) reading.report(...unknownKind(value, path, kindFields, what));
      else if (second !== undefined)
        reading.report(
          [...path, second],
          `cannot be combined with ${kind}: ${what} has only one of ${kindFields.join(", ")}.`,
        );
      else return kinds[kind]?.read(value, path, reading);
      return undefined;
    },
  };
}

function unknownKind(
  value: JsonObject,
  path: SpecPath,
  kindFields: readonly string[],
  what: string,
): readonly [SpecPath, string] {
  for (const name of Object.keys(value)) {
    const near = nearestName(name, kindFields);
    if (near !== null) return [[...path, name], `is no field of ${what}: did you mean ${near}?`];
  }
  return [path, `has no kind: ${what} has ${either(kindFields)}.`];
}

function either(names: readonly string[]): string {
  return `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}
