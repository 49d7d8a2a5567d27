import { setImmediate } from "node:timers/promises";

/** After so many characters, others have their turn: the process has a lease to renew, for one. */
const CHARACTERS_AT_ONCE = 1_000_000;

export type FoundLine = { readonly number: number; readonly line: string };

/**
 * The first lines that fit, counted from 1. One after the other and no further than needed: a file of short lines has millions
 * of them. A final line end ends the last line, and begins none.
 */
export async function findLines(
  text: string,
  fits: (line: string) => boolean,
  most: number,
  signal: AbortSignal,
): Promise<readonly FoundLine[]> {
  const found: FoundLine[] = [];
  let pauseAt = CHARACTERS_AT_ONCE;
  for (let at = 0, number = 1; at < text.length && found.length < most; number++) {
    const lineEnd = text.indexOf("\n", at);
    const end = lineEnd === -1 ? text.length : lineEnd;
    const line = text.slice(at, end);
    if (fits(line)) found.push({ number, line });
    at = end + 1;
    if (at < pauseAt) continue;
    await setImmediate();
    signal.throwIfAborted();
    pauseAt = at + CHARACTERS_AT_ONCE;
  }
  return found;
}
