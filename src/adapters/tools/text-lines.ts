import { setImmediate } from "node:timers/promises";

/** After so many characters, other work gets its turn, such as renewing a lease. */
const CHARACTERS_AT_ONCE = 1_000_000;

export type MatchingLine = { readonly number: number; readonly line: string };

/** Some lines of a text, unchanged, their number, and the number of all lines. */
export type LinesBetween = { readonly text: string; readonly count: number; readonly total: number };

/** The lines from one to another, both counted from 1, or to the end. A final line end does not begin another line. */
export async function linesBetween(
  text: string,
  from: number,
  to: number,
  signal: AbortSignal,
): Promise<LinesBetween> {
  let [start, end] = [text.length, 0];
  let total = 0;
  let pauseAt = CHARACTERS_AT_ONCE;
  for (let at = 0; at < text.length; ) {
    const lineEnd = text.indexOf("\n", at);
    total += 1;
    if (total === from) start = at;
    if (total <= to) end = lineEnd === -1 ? text.length : lineEnd;
    at = lineEnd === -1 ? text.length : lineEnd + 1;
    if (at < pauseAt) continue;
    await yieldToOthers(signal);
    pauseAt = at + CHARACTERS_AT_ONCE;
  }
  const count = Math.max(0, Math.min(to, total) - from + 1);
  return { text: count === 0 ? "" : text.slice(start, end), count, total };
}

async function yieldToOthers(signal: AbortSignal): Promise<void> {
  await setImmediate();
  signal.throwIfAborted();
}

/**
 * The first lines that match, counted from 1. It scans line by line and no further than needed: a file of short lines has
 * millions of them. A final line end does not begin another line.
 */
export async function findLines(
  text: string,
  fits: (line: string) => boolean,
  most: number,
  signal: AbortSignal,
): Promise<readonly MatchingLine[]> {
  const found: MatchingLine[] = [];
  let pauseAt = CHARACTERS_AT_ONCE;
  for (let at = 0, number = 1; at < text.length && found.length < most; number++) {
    const lineEnd = text.indexOf("\n", at);
    const end = lineEnd === -1 ? text.length : lineEnd;
    const line = text.slice(at, end);
    if (fits(line)) found.push({ number, line });
    at = end + 1;
    if (at < pauseAt) continue;
    await yieldToOthers(signal);
    pauseAt = at + CHARACTERS_AT_ONCE;
  }
  return found;
}
