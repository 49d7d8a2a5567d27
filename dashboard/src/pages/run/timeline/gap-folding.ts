/** A stretch of time, in milliseconds since 1970. */
export type Stretch = { readonly from: number; readonly to: number };

/** Shorter ones are never folded: a reader would click on nothing. */
const SHORTEST_MS = 2_000;

/** A run of years must not be drawn as a row of folds: the longest ones are worth it. */
const MOST_FOLDS = 200;

/** Where no worker had the run: between the lives, in order. */
export function gapsBetween(lives: readonly Stretch[]): readonly Stretch[] {
  const gaps: Stretch[] = [];
  let end = Number.NEGATIVE_INFINITY;
  for (const { from, to } of lives.toSorted((a, b) => a.from - b.from)) {
    if (Number.isFinite(end) && from > end) gaps.push({ from: end, to: from });
    end = Math.max(end, to);
  }
  return gaps;
}

/** What is still open after the last life: nothing works, and its end is now. */
export function openGap(lives: readonly Stretch[], now: number): Stretch | null {
  const from = Math.max(...lives.map(({ to }) => to));
  return now - from > leastFolded(lives) ? { from, to: now } : null;
}

/**
 * The gaps that are folded: those that are longer than twice the usual time of work, so that work is what fills the width.
 * Compared with lives and not with other gaps: a run with one long wait has no other gap to compare it with.
 */
export function foldedGaps(lives: readonly Stretch[]): readonly Stretch[] {
  const least = leastFolded(lives);
  const folded = gapsBetween(lives).filter(({ from, to }) => to - from > least);
  if (folded.length <= MOST_FOLDS) return folded;
  const longest = new Set(folded.toSorted((a, b) => b.to - b.from - (a.to - a.from)).slice(0, MOST_FOLDS));
  return folded.filter((gap) => longest.has(gap));
}

function leastFolded(lives: readonly Stretch[]): number {
  return Math.max(SHORTEST_MS, 2 * median(lives.map(({ from, to }) => to - from)));
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
}
