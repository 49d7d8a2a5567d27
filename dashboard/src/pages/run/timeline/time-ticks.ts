import type { Piece, TimeScale } from "./time-scale.ts";
import type { ViewWindow } from "./view-window.ts";

export type Tick = { readonly at: number; readonly unit: number };

const STEPS_MS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000,
  600_000, 900_000, 1_800_000, 3_600_000, 7_200_000, 10_800_000, 21_600_000, 43_200_000, 86_400_000,
];
const DAY_MS = 86_400_000;

/** The step between ticks that are at least `leastPx` apart. */
export function tickStep(msPerPx: number, leastPx: number): number {
  const least = msPerPx * leastPx;
  return STEPS_MS.find((step) => step >= least) ?? Math.ceil(least / DAY_MS) * DAY_MS;
}

/** The ticks in the window, at round times of the reader's own zone. Folds have none. */
export function ticksIn(
  { pieces }: TimeScale,
  view: ViewWindow,
  { stepMs, zoneMs }: { readonly stepMs: number; readonly zoneMs: number },
): readonly Tick[] {
  return pieces
    .filter(({ isFold, start, end }) => !isFold && end > view.start && start < view.end)
    .flatMap((piece) => ticksOf(piece, view, stepMs, zoneMs));
}

function ticksOf(piece: Piece, view: ViewWindow, stepMs: number, zoneMs: number): readonly Tick[] {
  const { from, start, end } = piece;
  // Outside of folds a unit is a millisecond.
  const first = from + Math.max(start, view.start) - start;
  const last = from + Math.min(end, view.end) - start;
  const ticks: Tick[] = [];
  for (let at = Math.ceil((first + zoneMs) / stepMs) * stepMs - zoneMs; at <= last; at += stepMs)
    ticks.push({ at, unit: start + at - from });
  return ticks;
}
