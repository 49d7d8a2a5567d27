import { isJsonObject, type Json } from "../../../../src/core/json.ts";

/** A value that differs, as texts; null for one that is not there. */
export type ValueChange = {
  readonly path: string;
  readonly a: string | null;
  readonly b: string | null;
  /** Both are texts of the user's own, and not JSON. */
  readonly isText: boolean;
};

/** The fields of two values that differ; the values themselves if one of them has no fields. */
export function changedFields(a: Json, b: Json): readonly ValueChange[] {
  if (!isJsonObject(a) || !isJsonObject(b)) return [valueChange("", a, b)];
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names]
    .map((name) => ({ name, a: fieldOf(a, name), b: fieldOf(b, name) }))
    .filter((field) => JSON.stringify(field.a) !== JSON.stringify(field.b))
    .map((field) => valueChange(field.name, field.a, field.b));
}

/** A field of the value's own, null if it has none: every object has a `constructor`, which is no field of the user's. */
export function fieldOf(value: Json, name: string): Json {
  return isJsonObject(value) && Object.hasOwn(value, name) ? (value[name] ?? null) : null;
}

export function valueChange(path: string, a: Json, b: Json): ValueChange {
  const isText = typeof a === "string" && typeof b === "string";
  // The text "1" in the place of the number 1 is a change, and would look like none.
  const looksSame = !isText && valueText(a) === valueText(b);
  const textOf = looksSame ? jsonText : valueText;
  return { path, a: textOf(a), b: textOf(b), isText };
}

function valueText(value: Json): string | null {
  return typeof value === "string" ? value : jsonText(value);
}

function jsonText(value: Json): string | null {
  return value === null ? null : JSON.stringify(value, null, 2);
}
