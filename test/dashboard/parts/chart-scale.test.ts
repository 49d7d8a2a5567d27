import { describe, expect, it } from "vitest";
import { axisTicks, bands, labelled, linearScale } from "../../../dashboard/src/parts/charts/chart-scale.ts";

describe("a linear scale", () => {
  it("maps the ends of its domain to the ends of its range", () => {
    const scale = linearScale([0, 50], [200, 0]);
    expect([scale(0), scale(25), scale(50)]).toEqual([200, 100, 0]);
  });

  it("puts everything at the start where the domain has no width", () => {
    expect(linearScale([3, 3], [200, 0])(3)).toBe(200);
  });
});

describe("the ticks of an axis", () => {
  it.each([
    [9, 4, [0, 5, 10]],
    [4, 4, [0, 1, 2, 3, 4]],
    [0.3, 3, [0, 0.1, 0.2, 0.3]],
    [131_560_000, 4, [0, 50_000_000, 100_000_000, 150_000_000]],
  ])("of %d are round, and end at or above it", (most, count, ticks) => {
    expect(axisTicks(most, count)).toEqual(ticks);
  });

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])("are zero alone for %d", (most) => {
    expect(axisTicks(most, 4)).toEqual([0]);
  });

  it("are never more than twice as many as asked for", () => {
    for (let most = 0.001; most < 1e9; most *= 1.7) {
      const ticks = axisTicks(most, 4);
      expect(ticks.length).toBeGreaterThan(1);
      expect(ticks.length).toBeLessThan(9);
      expect(ticks.at(-1)).toBeGreaterThanOrEqual(most * (1 - 1e-9));
    }
  });
});

describe("the bands of bars", () => {
  it("stand in the middle of their shares, and stay in the width", () => {
    const { start, width } = bands(4, 400);
    expect([start(0), width]).toEqual([26, 48]);
    expect(start(3) + width).toBeLessThanOrEqual(400);
  });

  it("are at least a pixel wide", () => {
    expect(bands(1_000, 300).width).toBe(1);
  });
});

describe("labels under bars", () => {
  it("are all there where they have room", () => {
    expect([...labelled(3, 300, 56)]).toEqual([2, 1, 0]);
  });

  it("leave some out from the end, so that the newest has one", () => {
    expect([...labelled(30, 560, 56)].toSorted((a, b) => a - b)).toEqual([
      2, 5, 8, 11, 14, 17, 20, 23, 26, 29,
    ]);
  });

  it("are none where there are no bars", () => {
    expect(labelled(0, 300, 56).size).toBe(0);
  });
});
