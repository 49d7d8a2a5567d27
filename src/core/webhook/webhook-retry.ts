const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000];

/** The pauses after attempts that failed: three days in all, as Standard Webhooks proposes. */
const PAUSES = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
] as const;

/** The most that a pause is longer, so that what failed together does not come back together. */
const JITTER = 0.2;

/** How long to wait after the n-th attempt; null if it was the last. `random` is from 0 up to 1. */
export function retryInMs(attempt: number, random: number): number | null {
  const pause = PAUSES[attempt - 1];
  return pause === undefined ? null : Math.round(pause * (1 + JITTER * random));
}
