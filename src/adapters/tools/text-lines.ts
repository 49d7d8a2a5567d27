import { setImmediate } from "node:timers/promises";

/** After so many characters, others have their turn: the process has a lease to renew, for one. */
const CHARACTERS_AT_ONCE = 1_000_000;

export type FoundLine = { readonly number: number; readonly line: string };

/** Some lines of a text, as they stand there, how many they are, and how many there are in all. */
export type LinesBetween = { readonly text: string; readonly count: number; readonly total: number };

/** From one line to another, both counted from 1, or to the end. A final line end ends the last line, and begins none. */
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
    await giveWay(signal);
    pauseAt = at + CHARACTERS_AT_ONCE;
  }
  const count = Math.max(0, Math.min(to, total) - from + 1);
  return { text: count === 0 ? "" : text.slice(start, end), count, total };
}

async function giveWay(signal: AbortSignal): Promise<void> {
  await setImmediate();
  signal.throwIfAborted();
}

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
    await giveWay(signal);
    pauseAt = at + CHARACTERS_AT_ONCE;
  }
  return found;
}
