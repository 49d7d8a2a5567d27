import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { foldedGaps, gapsBetween, openGap } from "../../../dashboard/src/pages/run/timeline/gap-folding.ts";
import {
  growingEnd,
  timeAt,
  timeScale,
  unitAt,
} from "../../../dashboard/src/pages/run/timeline/time-scale.ts";
import { tickStep, ticksIn } from "../../../dashboard/src/pages/run/timeline/time-ticks.ts";

const MINUTE = 60_000;

describe("gaps", () => {
  test("are where no life was, also if lives overlap or come in another order", () => {
    const lives = [
      { from: 50, to: 60 },
      { from: 0, to: 10 },
      { from: 5, to: 30 },
    ];
    expect(gapsBetween(lives)).toEqual([{ from: 30, to: 50 }]);
    expect(gapsBetween([])).toEqual([]);
  });

  test("are folded if they are longer than twice the usual life, and not for a moment", () => {
    const lives = [
      { from: 0, to: MINUTE },
      { from: 1.5 * MINUTE, to: 2.5 * MINUTE },
      { from: 20 * MINUTE, to: 21 * MINUTE },
    ];
    expect(foldedGaps(lives)).toEqual([{ from: 2.5 * MINUTE, to: 20 * MINUTE }]);
    expect(
      foldedGaps([
        { from: 0, to: 10 },
        { from: 1_000, to: 1_010 },
      ]),
    ).toEqual([]);
  });

  test("that are still open are folded by the same rule, however long the wait is", () => {
    const lives = [{ from: 0, to: 200 }];
    expect(openGap(lives, 1_500)).toBeNull();
    for (const now of [3 * MINUTE, 600 * MINUTE]) expect(openGap(lives, now)).toEqual({ from: 200, to: now });
    expect(openGap([{ from: 0, to: 10 * MINUTE }], 15 * MINUTE)).toBeNull();
  });

  test("of a run with thousands of lives leave at most 200 folds, the longest ones", () => {
    const lives = Array.from({ length: 1_000 }, (_, index) => {
      const from = index * 1_000_000 + (index === 500 ? 500_000 : 0);
      return { from, to: from + 1_000 };
    });
    const folds = foldedGaps(lives);
    expect(folds).toHaveLength(200);
    expect(folds).toContainEqual({ from: 499_001_000, to: 500_500_000 });
  });
});

describe("the scale of time", () => {
  test("gives a fold a fixed share of the width, and all other time the rest in proportion", () => {
    const scale = timeScale({ from: 0, to: 1_200_000 }, [{ from: 100_000, to: 1_100_000 }]);
    expect(unitAt(scale, 100_000)).toBe(100_000);
    expect((unitAt(scale, 1_100_000) - 100_000) / scale.length).toBeCloseTo(0.06);
    expect(unitAt(scale, 1_200_000)).toBe(scale.length);
  });

  test("may end with a fold, which has the same width while its time grows", () => {
    const [short, long] = [200_000, 9_000_000].map((to) =>
      timeScale({ from: 0, to }, [{ from: 100_000, to }]),
    );
    expect(short?.length).toBe(long?.length);
    for (const scale of [short, long]) {
      expect(scale?.pieces).toHaveLength(2);
      expect(scale?.pieces.at(-1)?.isFold).toBe(true);
    }
    expect(timeAt(timeScale({ from: 0, to: 200_000 }, [{ from: 100_000, to: 200_000 }]), 1e9)).toBe(200_000);
  });

  test("is never all folds", () => {
    const folds = Array.from({ length: 100 }, (_, index) => ({
      from: index * 1_000 + 100,
      to: index * 1_000 + 900,
    }));
    const scale = timeScale({ from: 0, to: 100_000 }, folds);
    const folded = scale.pieces
      .filter(({ isFold }) => isFold)
      .reduce((sum, { start, end }) => sum + end - start, 0);
    expect(folded / scale.length).toBeCloseTo(0.35);
  });

  test("can be read backwards: the time at the place of a time is that time", () => {
    const stretches = fc
      .uniqueArray(fc.integer({ min: 1, max: 999_999 }), { minLength: 2, maxLength: 20 })
      .map((edges) => edges.toSorted((a, b) => a - b))
      .map((edges) =>
        edges.flatMap((from, index) => {
          const to = edges[index + 1];
          return index % 2 === 0 && to !== undefined && to > from + 1 ? [{ from, to: to - 1 }] : [];
        }),
      );
    fc.assert(
      fc.property(stretches, fc.integer({ min: 0, max: 1_000_000 }), (folds, at) => {
        const scale = timeScale({ from: 0, to: 1_000_000 }, folds);
        expect(timeAt(scale, unitAt(scale, at))).toBeCloseTo(at, 3);
      }),
    );
  });

  test("never runs backwards", () => {
    const scale = timeScale({ from: 0, to: 1_000 }, [{ from: 200, to: 900 }]);
    const units = Array.from({ length: 101 }, (_, index) => unitAt(scale, index * 10));
    expect(units).toEqual(units.toSorted((a, b) => a - b));
    expect([unitAt(scale, -50), unitAt(scale, 2_000)]).toEqual([0, scale.length]);
  });

  test("of a run that grows ends later in steps, so that what is read stays where it is", () => {
    const ends = new Set(Array.from({ length: 1_000 }, (_, second) => growingEnd(0, 600_000 + second * 100)));
    expect(ends.size).toBeLessThanOrEqual(3);
    for (const now of [0, 5_000, 61_234, 9_999_999]) expect(growingEnd(0, now)).toBeGreaterThan(now);
  });
});

describe("ticks", () => {
  test("are far enough apart, at round times of the reader's zone, and not in folds", () => {
    const scale = timeScale({ from: 0, to: 40 * MINUTE }, [{ from: 5 * MINUTE, to: 35 * MINUTE }]);
    const stepMs = tickStep(1_000, 84);
    expect(stepMs).toBe(120_000);
    const ticks = ticksIn(scale, { start: 0, end: scale.length }, { stepMs, zoneMs: MINUTE });
    expect(ticks.map(({ at }) => at / MINUTE)).toEqual([1, 3, 5, 35, 37, 39]);
  });
});
