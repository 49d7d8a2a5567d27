import type { Answer } from "../../api/client.ts";

type Json = Answer<"compareRuns">["setup"][number]["a"];

export type ValueChange = { readonly path: string; readonly a: string | null; readonly b: string | null };

/** The fields of two values that differ, as texts; null for one that is not there. */
export function changedFields(a: Json, b: Json): readonly ValueChange[] {
  if (!isObject(a) || !isObject(b)) return [valueChange("", a, b)];
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names]
    .map((name) => valueChange(name, a[name] ?? null, b[name] ?? null))
    .filter((change) => change.a !== change.b);
}

export function valueChange(path: string, a: Json, b: Json): ValueChange {
  return { path, a: valueText(a), b: valueText(b) };
}

function valueText(value: Json): string | null {
  if (value === null) return null;
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

function isObject(value: Json): value is { [name: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
