import { ConfigurationError } from "../errors.ts";

/** Letters, digits, and `.`, `_`, `:`, `/`, `-` in between. */
const EVENT_NAME = /^[\p{L}\p{N}][\p{L}\p{N}._:/-]{0,199}$/u;

/** True if a wait for this event, or for all that begin like it (`payment.*`), is answered by an event of this name. */
export function matchesEvent(pattern: string, event: string): boolean {
  return pattern.endsWith("*") ? event.startsWith(pattern.slice(0, -1)) : event === pattern;
}

export function assertEventName(event: unknown): asserts event is string {
  if (typeof event === "string" && EVENT_NAME.test(event)) return;
  throw new ConfigurationError(
    `The event is named ${JSON.stringify(event)}: give a name such as "payment.confirmed".`,
  );
}

/** The name of an event, or its beginning and a `*`. */
export function assertEventPattern(pattern: unknown): asserts pattern is string {
  const name = typeof pattern === "string" && pattern.endsWith("*") ? pattern.slice(0, -1) : pattern;
  if (pattern === "*" || (typeof name === "string" && EVENT_NAME.test(name))) return;
  throw new ConfigurationError(
    `It waits for ${JSON.stringify(pattern)}: give the name of an event such as "payment.confirmed", or "payment.*".`,
  );
}
