/** How far back a list looks. */
export const PERIODS = ["1h", "24h", "7d", "30d"] as const;
export type Period = (typeof PERIODS)[number];

const HOUR_MS = 3_600_000;
const PERIOD_MS = {
  "1h": HOUR_MS,
  "24h": 24 * HOUR_MS,
  "7d": 168 * HOUR_MS,
  "30d": 720 * HOUR_MS,
} as const satisfies Record<Period, number>;

export function periodStart(period: Period, now: number): number {
  return now - PERIOD_MS[period];
}

/** The start for the API: a whole minute, so that the pages of one list are of the same filter. */
export function periodStartText(period: Period, now: number): string {
  const start = periodStart(period, now);
  return new Date(start - (start % 60_000)).toISOString();
}
