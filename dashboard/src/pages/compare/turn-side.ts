import type { Answer } from "../../api/client.ts";
import { fieldOf } from "../../parts/text/value-change.ts";

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
  const parts = listOf(fieldOf(side, "parts"));
  const texts = (kind: string): string =>
    parts
      .filter((part) => fieldOf(part, "kind") === kind)
      .map((part) => textOf(fieldOf(fieldOf(part, "text"), "text")))
      .join("\n\n");
  const calls = parts.map((part) => fieldOf(part, "call")).filter((call) => call !== null);
  const took = fieldOf(side, "tookMs");
  return {
    text: texts("text"),
    reasoning: texts("reasoning"),
    requests: new Map(
      calls.map((call) => [textOf(fieldOf(call, "toolCallId")), shownValue(fieldOf(call, "request"))]),
    ),
    tookMs: typeof took === "number" ? took : null,
  };
}

/** A long value is only the beginning of its JSON. */
function shownValue(shown: Json): Json {
  return fieldOf(shown, "kind") === "whole"
    ? fieldOf(shown, "value")
    : fieldOf(fieldOf(shown, "json"), "text");
}

function listOf(value: Json): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

function textOf(value: Json): string {
  return typeof value === "string" ? value : "";
}
