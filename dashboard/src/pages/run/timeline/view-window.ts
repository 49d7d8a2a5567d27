/** The part of a scale that is seen, in its units. */
export type ViewWindow = { readonly start: number; readonly end: number };

/** Nothing is recorded in shorter steps than a millisecond: so much is enough to see two of them apart. */
const LEAST_UNITS = 20;

/** The window, moved and shrunk until it is inside of the scale. */
export function inside({ start, end }: ViewWindow, length: number): ViewWindow {
  const size = Math.min(length, Math.max(Math.min(LEAST_UNITS, length), end - start));
  const first = Math.min(Math.max(0, start), length - size);
  return { start: first, end: first + size };
}

/** Zooms by a factor; what is at `share` of the width (0 left, 1 right) stays there. */
export function zoomed(
  { start, end }: ViewWindow,
  factor: number,
  share: number,
  length: number,
): ViewWindow {
  const still = start + (end - start) * share;
  const size = Math.min(length, Math.max(Math.min(LEAST_UNITS, length), (end - start) / factor));
  return inside({ start: still - size * share, end: still + size * (1 - share) }, length);
}

/** Moves the window by a share of itself. */
export function panned({ start, end }: ViewWindow, share: number, length: number): ViewWindow {
  const by = (end - start) * share;
  return inside({ start: start + by, end: end + by }, length);
}

/** The window that shows a stretch with some room around it; as it is, if the stretch is in it already. */
export function showing(view: ViewWindow, start: number, end: number, length: number): ViewWindow {
  if (start >= view.start && end <= view.end) return view;
  const size = Math.max(view.end - view.start, (end - start) * 1.4);
  const middle = (start + end) / 2;
  return inside({ start: middle - size / 2, end: middle + size / 2 }, length);
}
