import type { TimelineBlock, TimelineMark, TimelineSlice } from "./timeline-items.ts";

/** A list that was merged until it was short enough, and the threshold that this took. */
export type Coarsened<T> = { readonly items: readonly T[]; readonly mergedBelowMs: number };

/**
 * How far short items are joined: as long as one follows the other closely, to be drawn; or evenly, no further than the threshold,
 * so that a busy run of thousands of them does not become one block.
 */
export type BlockReach = "closely" | "even";

/**
 * Slices that are shorter than `minMs` become blocks; if more than `most` are left, the threshold is doubled until they
 * are not. The slices are in the order of their beginnings, and so is the result.
 */
export function coarseSlices(
  slices: readonly (TimelineSlice | TimelineBlock)[],
  minMs: number,
  most: number,
  joining: BlockReach = "closely",
): Coarsened<TimelineSlice | TimelineBlock> {
  const merge: Merge<TimelineSlice | TimelineBlock> = (items, ms) =>
    mergedSlices(items, ms, reach(joining, ms));
  return coarsened(slices, merge, minMs, most, ({ from, to }) => ({ start: from, end: to }));
}

/** The same for marks: those of one kind that are closer than `minMs` become one with a count. */
export function coarseMarks(
  marks: readonly TimelineMark[],
  minMs: number,
  most: number,
  joining: BlockReach = "closely",
): Coarsened<TimelineMark> {
  const merge: Merge<TimelineMark> = (items, ms) => mergedMarks(items, ms, reach(joining, ms));
  return coarsened(marks, merge, minMs, most, ({ at, until }) => ({ start: at, end: until }));
}

type Merge<T> = (items: readonly T[], minMs: number) => readonly T[];

/** The most that a block may span. */
function reach(joining: BlockReach, minMs: number): number {
  return joining === "even" ? minMs : Number.POSITIVE_INFINITY;
}

function coarsened<T>(
  all: readonly T[],
  merge: Merge<T>,
  minMs: number,
  most: number,
  spanOf: (item: T) => { readonly start: number; readonly end: number },
): Coarsened<T> {
  const [first] = all;
  const start = first === undefined ? 0 : spanOf(first).start;
  const length = all.reduce((end, item) => Math.max(end, spanOf(item).end), start) - start;
  let mergedBelowMs = minMs;
  let items = minMs > 0 ? merge(all, minMs) : all;
  // Beyond the whole length, everything that can be merged has been.
  while (items.length > most && mergedBelowMs <= length) {
    mergedBelowMs = Math.max(1, mergedBelowMs * 2);
    items = merge(items, mergedBelowMs);
  }
  return { items, mergedBelowMs };
}

/** The next short slice joins the last block of its lane and category, if the gap between them is as short. */
function mergedSlices(
  slices: readonly (TimelineSlice | TimelineBlock)[],
  minMs: number,
  mostMs: number,
): readonly (TimelineSlice | TimelineBlock)[] {
  const merged: (TimelineSlice | TimelineBlock)[] = [];
  const last = new Map<string, number>();
  for (const slice of slices) {
    const isShort = slice.kind === "block" || slice.to - slice.from < minMs;
    const group = `${slice.lane} ${slice.category}`;
    const index = isShort ? last.get(group) : undefined;
    const before = index === undefined ? undefined : merged[index];
    const isClose =
      before !== undefined &&
      slice.from - before.to <= minMs &&
      Math.max(before.to, slice.to) - before.from <= mostMs;
    if (index !== undefined && before !== undefined && isClose) {
      merged[index] = joined(before, slice);
    } else {
      if (isShort) last.set(group, merged.length);
      merged.push(slice);
    }
  }
  return merged;
}

function joined(one: TimelineSlice | TimelineBlock, other: TimelineSlice | TimelineBlock): TimelineBlock {
  const [a, b] = [blockOf(one), blockOf(other)];
  return {
    ...a,
    count: a.count + b.count,
    cut: a.cut + b.cut,
    to: Math.max(a.to, b.to),
    firstLife: Math.min(a.firstLife, b.firstLife),
    lastLife: Math.max(a.lastLife, b.lastLife),
  };
}

function blockOf(item: TimelineSlice | TimelineBlock): TimelineBlock {
  if (item.kind === "block") return item;
  const { lane, category, from, to, life, isCut } = item;
  return {
    kind: "block",
    lane,
    category,
    count: 1,
    cut: isCut ? 1 : 0,
    from,
    to,
    firstLife: life,
    lastLife: life,
  };
}

function mergedMarks(marks: readonly TimelineMark[], minMs: number, mostMs: number): readonly TimelineMark[] {
  const merged: TimelineMark[] = [];
  const last = new Map<string, number>();
  for (const mark of marks) {
    const index = last.get(mark.kind);
    const before = index === undefined ? undefined : merged[index];
    const until = Math.max(before?.until ?? 0, mark.until);
    const isClose = before !== undefined && mark.at - before.until < minMs && until - before.at <= mostMs;
    if (index !== undefined && before !== undefined && isClose) {
      merged[index] = { ...before, until, count: before.count + mark.count };
    } else {
      last.set(mark.kind, merged.length);
      merged.push(mark);
    }
  }
  return merged;
}
