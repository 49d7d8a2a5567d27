const FIRST_BACKOFF_MS = 500;
export const LONGEST_BACKOFF_MS = 60_000;

/** The pause after the n-th attempt: exponential, with jitter on the upper half. `random` is from 0 up to 1. */
export function backoffMs(tries: number, random: number): number {
  const ceiling = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (tries - 1));
  return Math.round(ceiling / 2 + (ceiling / 2) * random);
}
