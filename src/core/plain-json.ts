import { type Json, MAX_DEPTH } from "./json.ts";

/**
 * A copy that Pawl can store: without `undefined`, and without lone surrogates, which models do produce and which
 * the store refuses. Values that JSON cannot express are left out, and so are values nested deeper than `levels`.
 */
export function plainJson(value: unknown, levels = MAX_DEPTH): Json | undefined {
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value !== "object" || levels === 0) return undefined;
  if (Array.isArray(value)) return value.map((item) => plainJson(item, levels - 1) ?? null);
  const entries: [string, Json][] = [];
  for (const [key, item] of Object.entries(value)) {
    const copy = plainJson(item, levels - 1);
    if (copy !== undefined) entries.push([key.toWellFormed(), copy]);
  }
  return Object.fromEntries(entries);
}
