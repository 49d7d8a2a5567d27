import type { Json, JsonObject } from "../../core/json.ts";
import type { StoreReader } from "../../store/store.ts";
import type { WatchedFact } from "./watch-event.ts";

/** What is read of a run for those who watch it. */
export type WatchedRun = { readonly store: StoreReader; readonly runId: string };

/**
 * A fact that an event of the log stands for, read when it is needed. Null if the store no longer has it, because a later
 * event has removed it.
 */
export type FactDraft = (run: WatchedRun) => Promise<WatchedFact | null> | WatchedFact;

/** The turn that an event is about. */
export type PlaceOfTurn = { readonly step: string; readonly turn: number };

export function placeIn({ step, turn }: JsonObject): PlaceOfTurn {
  return { step: typeof step === "string" ? step : "", turn: typeof turn === "number" ? turn : 0 };
}

export function numberIn(facts: JsonObject, name: string): number {
  const value = facts[name];
  return typeof value === "number" ? value : 0;
}

export function listIn(facts: JsonObject, name: string): readonly Json[] {
  const value = facts[name];
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}
