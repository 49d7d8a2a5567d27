import { describe, expect, test } from "vitest";
import { coarseMarks, coarseSlices } from "../../../src/account/story/coarse-timeline.ts";
import type { TimelineMark, TimelineSlice } from "../../../src/account/story/timeline-items.ts";

const NOWHERE = { step: null, turn: null, toolCallId: null, attempt: null };

function slice(from: number, to: number, over: Partial<TimelineSlice> = {}): TimelineSlice {
  return {
    kind: "slice",
    life: 1,
    lane: 1,
    depth: 1,
    category: "tool",
    name: "search",
    from,
    to,
    outcome: null,
    isOpen: false,
    isCut: false,
    ...NOWHERE,
    ...over,
  };
}

const mark = (at: number, kind: TimelineMark["kind"] = "commit"): TimelineMark => ({
  kind,
  name: kind,
  life: 1,
  at,
  until: at,
  count: 1,
  ...NOWHERE,
});

describe("slices", () => {
  test("stay as they are if nothing is asked for and there are few", () => {
    const slices = [slice(0, 0), slice(1, 1)];
    expect(coarseSlices(slices, 0, 10)).toEqual({ items: slices, mergedBelowMs: 0 });
  });

  test("that are short and close to each other become a count; long ones stay", () => {
    const long = slice(100, 900);
    const slices = [slice(0, 5), slice(7, 9, { isCut: true, life: 2 }), long, slice(1_000, 1_001)];
    const { items } = coarseSlices(slices, 10, 10);
    expect(items).toEqual([
      {
        kind: "block",
        lane: 1,
        category: "tool",
        count: 2,
        cut: 1,
        from: 0,
        to: 9,
        firstLife: 1,
        lastLife: 2,
      },
      long,
      // One alone is no block: nothing would be saved.
      slice(1_000, 1_001),
    ]);
  });

  test("of other lanes and categories are not merged with each other", () => {
    const slices = [slice(0, 1), slice(0, 1, { lane: 2 }), slice(0, 1, { category: "model" })];
    expect(coarseSlices(slices, 10, 10).items).toEqual(slices);
  });

  test("are merged further until there are few enough, and none is lost", () => {
    const slices = Array.from({ length: 5_000 }, (_, i) => slice(i * 100, i * 100 + (i % 90)));
    const { items, mergedBelowMs } = coarseSlices(slices, 0, 100);
    expect(items.length).toBeLessThanOrEqual(100);
    expect(mergedBelowMs).toBeGreaterThan(0);
    const counts = items.map((item) => (item.kind === "block" ? item.count : 1));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(5_000);
  });

  test("that cannot be merged any further do not keep it busy for ever", () => {
    const slices = Array.from({ length: 20 }, (_, lane) => slice(0, 1, { lane }));
    expect(coarseSlices(slices, 0, 5).items).toHaveLength(20);
  });
});

test("marks of a kind that are close to each other become one with a count", () => {
  const { items } = coarseMarks([mark(0), mark(3), mark(4, "crash"), mark(6), mark(100)], 5, 100);
  expect(items.map(({ kind, at, until, count }) => [kind, at, until, count])).toEqual([
    ["commit", 0, 6, 3],
    ["crash", 4, 4, 1],
    ["commit", 100, 100, 1],
  ]);
});
