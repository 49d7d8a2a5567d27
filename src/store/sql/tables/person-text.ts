import { canonicalJson } from "../../../core/canonical-json.ts";
import type { Json } from "../../../core/json.ts";
import { type Decision, decisionJson, readDecision } from "../../../core/person.ts";

/** A person as a column keeps them, with what vouches for them. The time is in a column of its own. */
export function personText(decision: Decision): string {
  const { at: _, ...person } = decisionJson(decision) as { at: number };
  return canonicalJson(person);
}

/** The person of such a column, and the time of what they did. */
export function personAt(text: string, at: number): Decision {
  return { name: "", authenticated: null, ...readDecision(JSON.parse(text) as Json), at };
}
