import { isJsonObject } from "../../../../src/core/json.ts";
import type { Answer } from "../../api/client.ts";

type Json = Answer<"compareRuns">["turns"][number]["a"];

/** What one run has of a compared turn. */
export type TurnSide = {
  readonly text: string;
  readonly reasoning: string;
  /** The arguments of its calls, by their ids. */
  readonly requests: ReadonlyMap<string, Json>;
  /** Null if the run has no request of its own for it, as in the start of a fork. */
  readonly tookMs: number | null;
};

/** Reads a side, which comes as JSON. What is not known of it is left out; null if the run does not have the turn. */
export function turnSide(side: Json): TurnSide | null {
  if (side === null) return null;
  const parts = listOf(field(side, "parts"));
  const texts = (kind: string): string =>
    parts
      .filter((part) => field(part, "kind") === kind)
      .map((part) => textOf(field(field(part, "text"), "text")))
      .join("\n\n");
  const calls = parts.map((part) => field(part, "call")).filter((call) => call !== null);
  const took = field(side, "tookMs");
  return {
    text: texts("text"),
    reasoning: texts("reasoning"),
    requests: new Map(
      calls.map((call) => [textOf(field(call, "toolCallId")), shownValue(field(call, "request"))]),
    ),
    tookMs: typeof took === "number" ? took : null,
  };
}

/** A long value is only the beginning of its JSON. */
function shownValue(shown: Json): Json {
  return field(shown, "kind") === "whole" ? field(shown, "value") : field(field(shown, "json"), "text");
}

function field(value: Json, name: string): Json {
  return isJsonObject(value) && Object.hasOwn(value, name) ? (value[name] ?? null) : null;
}

function listOf(value: Json): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

function textOf(value: Json): string {
  return typeof value === "string" ? value : "";
}
