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

/** The numbers in a list: its items are numbers, or lists of a number and a digest. */
export function numbersIn(facts: JsonObject, name: string): readonly number[] {
  return listIn(facts, name).flatMap((item) => leadingNumber(item) ?? []);
}

/** A number, or the first item of a list. */
export function leadingNumber(value: Json | undefined): number | null {
  const first: unknown = Array.isArray(value) ? value[0] : value;
  return typeof first === "number" ? first : null;
}

/** The calls of a turn that an event is about. A response has one digest per call, in order. */
export function callIndexesIn(facts: JsonObject, name: string): readonly number[] {
  const items = listIn(facts, name);
  return items.every((item) => typeof item === "string")
    ? items.map((_, i) => i + 1)
    : numbersIn(facts, name);
}
