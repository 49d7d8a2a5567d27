import { expect, test } from "vitest";
import { KeptItems } from "../../../src/account/story/kept-items.ts";
import type { TimelineSlice } from "../../../src/account/story/timeline-items.ts";

const ALL = 200_000;
const PLACE = { step: "draft", turn: 1, toolCallId: null, attempt: null };

/** Something short each ten milliseconds: one after the other, as far as a page can draw it. */
function busyRun() {
  const kept = new KeptItems();
  for (let i = 0; i < ALL; i++) {
    const [from, to] = [i * 10, i * 10 + 8];
    const shown: Pick<TimelineSlice, "outcome" | "isOpen" | "isCut"> = {
      outcome: null,
      isOpen: false,
      isCut: false,
    };
    kept.addSlice({
      kind: "slice",
      life: 1,
      lane: 1,
      depth: 1,
      category: "tool",
      name: "a",
      from,
      to,
      ...shown,
      ...PLACE,
    });
    kept.addMark({ kind: "commit", name: "commit", life: 1, at: to, until: to, count: 1, ...PLACE });
  }
  return kept;
}

test("of a very long run each part can still be looked at from near, in limited memory", () => {
  const { slices, marks } = busyRun();
  for (const items of [slices, marks]) {
    expect(items.length).toBeLessThanOrEqual(60_000);
    expect(items.length).toBeGreaterThan(15_000);
  }
  const count = (item: (typeof slices)[number]) => (item.kind === "block" ? item.count : 1);
  expect(slices.reduce((sum, item) => sum + count(item), 0)).toBe(ALL);
  expect(marks.reduce((sum, mark) => sum + mark.count, 0)).toBe(ALL);
  // A hundredth of it, at any place.
  for (const from of [0, 1_000_000, 1_980_000]) {
    const seen = slices.filter((item) => item.from >= from && item.from < from + 20_000);
    expect(seen.length).toBeGreaterThan(100);
  }
  expect(slices.every((item, i) => i === 0 || item.from >= (slices[i - 1]?.from ?? 0))).toBe(true);
});
