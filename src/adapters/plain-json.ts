import type { Json } from "../core/json.ts";

/**
 * A copy that Pawl can store: without `undefined`, and without lone surrogates, which models do produce and which
 * the store refuses. What JSON has no word for is left out.
 */
export function plainJson(value: unknown): Json | undefined {
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value !== "object") return undefined;
  if (Array.isArray(value)) return value.map((item) => plainJson(item) ?? null);
  const entries: [string, Json][] = [];
  for (const [key, item] of Object.entries(value)) {
    const copy = plainJson(item);
    if (copy !== undefined) entries.push([key.toWellFormed(), copy]);
  }
  return Object.fromEntries(entries);
}
