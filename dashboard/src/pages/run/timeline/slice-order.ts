import type { Slice } from "./timeline-documents.ts";

/** Slices as they are walked through with keys: by their beginnings, the outer ones first. */
export function inOrder(slices: readonly Slice[]): readonly Slice[] {
  return slices.toSorted((a, b) => a.start - b.start || a.depth - b.depth || a.lane - b.lane);
}

/** The slice `by` places after the selected one; without one, the first or last that begins in the window. */
export function nextSlice(
  ordered: readonly Slice[],
  selected: string | null,
  by: 1 | -1,
  seen: { readonly from: number; readonly to: number },
): Slice | undefined {
  const at = ordered.findIndex(({ id }) => id === selected);
  if (at !== -1) return ordered[Math.min(ordered.length - 1, Math.max(0, at + by))];
  const inView = ({ start }: Slice): boolean => start >= seen.from && start <= seen.to;
  return by === 1 ? ordered.find(inView) : ordered.findLast(inView);
}
