/** As many series have colours of their own. */
export const MOST_SERIES = 6;

/** Maps numbers of a domain to a range of pixels. */
export type Scale = (value: number) => number;

/** A domain of no width is drawn at the start of the range. */
export function linearScale(
  [from, to]: readonly [number, number],
  [start, end]: readonly [number, number],
): Scale {
  const width = to - from;
  return (value) => (width === 0 ? start : start + ((value - from) / width) * (end - start));
}

/** Round values from zero to the first one that is not below `most`: some `count` of them, 1, 2 or 5 apart. */
export function axisTicks(most: number, count: number): readonly number[] {
  if (!(most > 0) || !Number.isFinite(most)) return [0];
  const step = roundStep(most / count);
  const steps = Math.ceil(most / step - 1e-9);
  // From whole numbers, so that the rounding of one tick is not that of all before it.
  return Array.from({ length: steps + 1 }, (_, index) => Number((index * step).toPrecision(12)));
}

function roundStep(least: number): number {
  const magnitude = 10 ** Math.floor(Math.log10(least));
  const factor = [1, 2, 5, 10].find((each) => each * magnitude >= least * (1 - 1e-9)) ?? 10;
  return factor * magnitude;
}

/** Where the bars of a chart stand: each has its share of the width, with a gap that is a part of it. */
export type Bands = { readonly start: (index: number) => number; readonly width: number };

export function bands(count: number, width: number, gapShare = 0.25): Bands {
  const share = count === 0 ? width : width / count;
  const bar = Math.max(1, Math.min(48, share * (1 - gapShare)));
  return { start: (index) => index * share + (share - bar) / 2, width: bar };
}

/** Which of `count` labels have room beside each other: the last one, and every so many before it. */
export function labelled(count: number, width: number, labelWidth: number): ReadonlySet<number> {
  const every = Math.max(1, Math.ceil((count * labelWidth) / Math.max(1, width)));
  return new Set(Array.from({ length: Math.ceil(count / every) }, (_, index) => count - 1 - index * every));
}
