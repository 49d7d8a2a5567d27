import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import type { EventRecord } from "../store/store.ts";

// Reads the data of an event of a run's log: JSON to which a later version may have added fields.

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

/** The numbers in a list. */
export function numbersIn(facts: JsonObject, name: string): readonly number[] {
  return listIn(facts, name).filter((item) => typeof item === "number");
}
