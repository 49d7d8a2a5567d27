import { ConfigurationError } from "../core/errors.ts";

/** Where a list continues, as a text that callers pass back and need not understand. */
export function cursorOf(...place: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(place)).toString("base64url");
}

/** The place in a cursor, if `read` finds it there. `name` is the option that has the cursor. */
export function placeAt<T>(name: string, cursor: string, read: (place: readonly unknown[]) => T | null): T {
  const place = parsed(Buffer.from(cursor, "base64url").toString("utf8"));
  const found = Array.isArray(place) ? read(place) : null;
  if (found !== null) return found;
  throw new ConfigurationError(
    `${name} is ${JSON.stringify(cursor)}: give a cursor of a page of the same list, or leave it out.`,
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
