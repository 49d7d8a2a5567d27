import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import type { EventRecord } from "../store/store.ts";

// What an event of a run's log says, out of JSON that a later version may have added to.

export function factsOf({ data }: Pick<EventRecord, "data">): JsonObject {
  return isJsonObject(data) ? data : {};
}

export function textIn(facts: JsonObject, name: string): string | null {
  const value = facts[name];
  return typeof value === "string" ? value : null;
}

export function numberIn(facts: JsonObject, name: string): number | null {
  const value = facts[name];
  return typeof value === "number" ? value : null;
}

export function listIn(facts: JsonObject, name: string): readonly Json[] {
  const value = facts[name];
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}

/** The numbers that a list is of, or that its items begin with: what follows is a digest. */
export function numbersIn(facts: JsonObject, name: string): readonly number[] {
  return listIn(facts, name).flatMap((item) => leadingNumber(item) ?? []);
}

/** A number, or the one that a list begins with. */
export function leadingNumber(value: Json | undefined): number | null {
  const first: unknown = Array.isArray(value) ? value[0] : value;
  return typeof first === "number" ? first : null;
}

/** The calls of a turn that an event tells of. A response has a digest for each of its calls, in their order. */
export function callIndexesIn(facts: JsonObject, name: string): readonly number[] {
  const items = listIn(facts, name);
  return items.every((item) => typeof item === "string")
    ? items.map((_, i) => i + 1)
    : numbersIn(facts, name);
}
