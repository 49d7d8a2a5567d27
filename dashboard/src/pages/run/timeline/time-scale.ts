import type { Stretch } from "./gap-folding.ts";

/**
 * Time as it is drawn: in units, of which a millisecond is one, and a fold some for all of its time. Everything that is drawn
 * is placed in units, so that zooming and panning need not know of folds.
 */
export type TimeScale = {
  readonly pieces: readonly Piece[];
  /** All of it, in units. */
  readonly length: number;
};

/** A part of the scale in which units and milliseconds are proportional. */
export type Piece = Stretch & { readonly start: number; readonly end: number; readonly isFold: boolean };

/** A fold takes this share of the width, and all folds together no more than that. */
const FOLD_SHARE = 0.06;
const FOLDS_SHARE = 0.35;

/** The scale of a stretch of time with folds in it. Folds are in order, and do not touch each other. The last may end it. */
export function timeScale(whole: Stretch, folds: readonly Stretch[]): TimeScale {
  const inside = folds.filter(({ from, to }) => from > whole.from && to <= whole.to);
  const folded = inside.reduce((sum, { from, to }) => sum + to - from, 0);
  const work = Math.max(1, whole.to - whole.from - folded);
  const share = Math.min(FOLD_SHARE, FOLDS_SHARE / Math.max(1, inside.length));
  const foldUnits = (work * share) / (1 - share * inside.length);
  const pieces: Piece[] = [];
  let [from, start] = [whole.from, 0];
  for (const fold of inside) {
    const before = start + fold.from - from;
    pieces.push({ from, to: fold.from, start, end: before, isFold: false });
    pieces.push({ ...fold, start: before, end: before + foldUnits, isFold: true });
    [from, start] = [fold.to, before + foldUnits];
  }
  if (from === whole.to) return { pieces, length: start };
  const to = Math.max(whole.to, from + 1);
  const length = start + to - from;
  pieces.push({ from, to, start, end: length, isFold: false });
  return { pieces, length };
}

/** Where a time is. What is before or after all of the scale is at its edges. */
export function unitAt({ pieces, length }: TimeScale, ms: number): number {
  const piece = found(pieces, ({ to }) => to >= ms);
  if (piece === undefined) return length;
  const { from, to, start, end } = piece;
  return to === from ? start : Math.max(start, start + ((ms - from) / (to - from)) * (end - start));
}

/** The time at a place: the reverse of `unitAt`. */
export function timeAt({ pieces }: TimeScale, unit: number): number {
  const piece = found(pieces, ({ end }) => end >= unit) ?? pieces.at(-1);
  if (piece === undefined) return 0;
  const { from, to, start, end } = piece;
  const time = end === start ? from : from + ((unit - start) / (end - start)) * (to - from);
  return Math.min(to, Math.max(from, time));
}

/** The first piece that fits; they are in order, so it is searched by halves. */
function found(pieces: readonly Piece[], fits: (piece: Piece) => boolean): Piece | undefined {
  let [low, high] = [0, pieces.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const piece = pieces[middle];
    if (piece !== undefined && fits(piece)) high = middle;
    else low = middle + 1;
  }
  return pieces[low];
}

/**
 * The end of the scale of a run that grows. It moves in steps of an eighth, so that what is read stays where it is while the
 * run grows into the free space.
 */
export function growingEnd(from: number, now: number): number {
  const length = Math.max(10_000, now - from);
  const step = 2 ** Math.floor(Math.log2(length)) / 8;
  return from + (Math.floor(length / step) + 1) * step;
}
