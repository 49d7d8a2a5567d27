const FIRST_MS = 300;
const LONGEST_MS = 5_000;

/** How long to wait before try number `failures`: doubled each time, and spread so that tabs do not come back together. */
export function retryDelayMs(failures: number, random: number): number {
  const most = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.max(0, failures - 1));
  return Math.round(most * (0.5 + random / 2));
}
