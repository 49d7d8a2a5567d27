import type { Stretch } from "./gap-folding.ts";

/** What is asked of the server: a part of the time, and the length below which slices are merged there. */
export type FetchedWindow = Stretch & { readonly minMs: number };

/** Slices of fewer pixels are merged by the drawing anyway. */
const MERGED_PX = 2;

/**
 * The window to fetch for what is seen: with half of it more on both sides, and on a grid, so that small moves need nothing.
 * Null if what is known of the whole run is as detailed already.
 */
export function fetchedWindow(seen: Stretch, widthPx: number, wholeMinMs: number): FetchedWindow | null {
  const length = Math.max(1, seen.to - seen.from);
  const minMs = powerOfTwo((length / Math.max(1, widthPx)) * MERGED_PX);
  if (wholeMinMs <= minMs) return null;
  const grid = Math.max(1, powerOfTwo(length / 2));
  return {
    from: Math.floor((seen.from - length / 2) / grid) * grid,
    to: Math.ceil((seen.to + length / 2) / grid) * grid,
    minMs,
  };
}

/** The power of two at or below a number; 0 below 1. */
function powerOfTwo(number: number): number {
  return number < 1 ? 0 : 2 ** Math.floor(Math.log2(number));
}
