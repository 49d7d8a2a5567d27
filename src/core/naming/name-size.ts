import { ConfigurationError } from "../errors.ts";

/** Names are in indexes, and an index of PostgreSQL takes 2,704 bytes at most, all columns together. */
const MAX_NAME_BYTES = 1_024;

/** Refuses a name that not every database could find again. */
export function assertNameSize(what: string, name: string): void {
  // Most names need not be encoded to see that they are short.
  if (name.length * 3 <= MAX_NAME_BYTES || Buffer.byteLength(name) <= MAX_NAME_BYTES) return;
  throw new ConfigurationError(
    `The ${what} that begins with ${JSON.stringify(name.slice(0, 40))} has ${Buffer.byteLength(name)} bytes: use at most ${MAX_NAME_BYTES}.`,
  );
}
