import { describe, expect, test } from "vitest";
import { fetchedWindow } from "../../../dashboard/src/pages/run/timeline/fetched-window.ts";
import { nextSlice } from "../../../dashboard/src/pages/run/timeline/slice-order.ts";
import { timeScale } from "../../../dashboard/src/pages/run/timeline/time-scale.ts";
import { bandsOf, rowOf } from "../../../dashboard/src/pages/run/timeline/timeline-bands.ts";
import { MOST_SHAPES, shapesIn } from "../../../dashboard/src/pages/run/timeline/timeline-shapes.ts";
import { panned, showing, zoomed } from "../../../dashboard/src/pages/run/timeline/view-window.ts";
import { life, slice, timeline, wait } from "./timeline-fixtures.ts";

const ALL = { from: 0, to: 100_000 };

function frameOf(width = 1_000) {
  const scale = timeScale(ALL, []);
  return { scale, view: { start: 0, end: scale.length }, width, top: 0, bottom: 10_000, now: 100_000 };
}

describe("bands", () => {
  const whole = timeline({
    lives: [life(1, 0, 40_000), life(2, 60_000, 90_000)],
    waits: [wait("q~1", 39_000, 59_000)],
    slices: [
      slice({ id: "s", category: "step", depth: 1, end: 40_000 }),
      slice({ id: "s2", category: "step", depth: 2, end: 40_000 }),
      slice({ id: "t", category: "turn", depth: 3, end: 20_000 }),
      slice({ id: "m", category: "model", depth: 4, end: 10_000 }),
      slice({ id: "p", category: "tool", depth: 4, lane: 2, start: 10_000, end: 20_000 }),
      slice({ id: "c", category: "tool", life: 2, depth: 2, start: 60_000, end: 70_000 }),
    ],
  });

  test("are in the order of time: a life, what it waited for, the next life", () => {
    const { bands } = bandsOf(whole, whole, ALL, 100_000);
    expect(bands.map((band) => (band.kind === "life" ? band.life.number : band.wait.waitId))).toEqual([
      1,
      "q~1",
      2,
    ]);
    for (const [index, band] of bands.entries()) {
      const next = bands[index + 1];
      if (next !== undefined) expect(next.top).toBeGreaterThanOrEqual(band.top + band.height);
    }
  });

  test("have a row for each depth of steps, one for turns, and a lane for each parallel call", () => {
    const [first, , second] = bandsOf(whole, whole, ALL, 100_000).bands;
    if (first?.kind !== "life" || second?.kind !== "life") throw new Error("There are no lives.");
    expect(whole.slices.slice(0, 5).map((each) => rowOf(first, each))).toEqual([0, 1, 2, 3, 4]);
    expect(whole.slices.slice(5).map((each) => rowOf(second, each))).toEqual([0]);
  });

  test("are only of what is in sight", () => {
    const { bands } = bandsOf(whole, whole, { from: 0, to: 30_000 }, 100_000);
    expect(bands).toHaveLength(1);
  });

  test("keep their rows where a window has fewer slices than the whole run", () => {
    const empty = timeline({ lives: whole.lives });
    const heights = (window: typeof whole) =>
      bandsOf(whole, window, ALL, 100_000).bands.map(({ height }) => height);
    expect(heights(empty)).toEqual(heights(whole));
  });
});

describe("shapes", () => {
  const bandsFor = (given: ReturnType<typeof timeline>) =>
    bandsOf(given, given, ALL, 100_000).bands.filter((band) => band.kind === "life");

  test("outside of the frame are not drawn", () => {
    const given = timeline({
      lives: [life(1, 0, 100_000)],
      slices: [slice({ id: "a", end: 10_000 }), slice({ id: "b", start: 60_000, end: 70_000 })],
    });
    const frame = { ...frameOf(), view: { start: 50_000, end: 100_000 } };
    expect(shapesIn(bandsFor(given), given.slices, frame).map(({ key }) => key)).toEqual(["b"]);
    expect(shapesIn(bandsFor(given), given.slices, { ...frame, top: 5_000 })).toEqual([]);
  });

  test("that are too narrow become one with their count, and the wide ones stay alone", () => {
    const narrow = Array.from({ length: 50 }, (_, index) =>
      slice({ id: `n${index}`, start: index * 20, end: index * 20 + 10, isCut: index === 7 }),
    );
    const given = timeline({
      lives: [life(1, 0, 100_000)],
      slices: [...narrow, slice({ id: "wide", start: 20_000, end: 60_000 })],
    });
    const shapes = shapesIn(bandsFor(given), given.slices, frameOf());
    expect(shapes.map(({ count, hasCut, slice: one }) => [count, hasCut, one?.id ?? null])).toEqual([
      [50, true, null],
      [1, false, "wide"],
    ]);
  });

  test("are at most 1,200, whatever a run has done", () => {
    const lanes = Array.from({ length: 400 }, (_, lane) => lane + 1);
    const given = timeline({
      lives: [life(1, 0, 100_000)],
      slices: lanes.flatMap((lane) =>
        Array.from({ length: 10 }, (_, index) =>
          slice({
            id: `${lane}.${index}`,
            category: "tool",
            lane,
            start: index * 10_000,
            end: index * 10_000 + 9_000,
          }),
        ),
      ),
    });
    const shapes = shapesIn(bandsFor(given), given.slices, { ...frameOf(), bottom: 100_000 });
    expect(given.slices).toHaveLength(4_000);
    expect(shapes).toHaveLength(MOST_SHAPES);
  });

  test("of what is still open reach until now", () => {
    const given = timeline({
      lives: [life(1, 0, 50_000)],
      slices: [slice({ id: "open", start: 10_000, end: 20_000, isOpen: true })],
    });
    const [shape] = shapesIn(bandsFor(given), given.slices, { ...frameOf(), now: 50_000 });
    expect(Math.round(shape?.width ?? 0)).toBe(392);
  });
});

describe("what is fetched", () => {
  test("is nothing while the whole run is known in as much detail", () => {
    expect(fetchedWindow(ALL, 1_000, 0)).toBeNull();
    expect(fetchedWindow(ALL, 1_000, 128)).toBeNull();
  });

  test("is a window with room at both sides, and the same one after a small move", () => {
    const window = fetchedWindow({ from: 40_000, to: 50_000 }, 1_000, 500);
    expect(window?.minMs).toBe(16);
    expect(window?.from).toBeLessThanOrEqual(35_000);
    expect(window?.to).toBeGreaterThanOrEqual(55_000);
    expect(fetchedWindow({ from: 40_010, to: 50_010 }, 1_000, 500)).toEqual(window);
  });
});

describe("the view", () => {
  const view = { start: 20_000, end: 40_000 };

  test("zooms around what the pointer is on", () => {
    expect(zoomed(view, 2, 0.25, 100_000)).toEqual({ start: 22_500, end: 32_500 });
    expect(zoomed(view, 0.001, 0.5, 100_000)).toEqual({ start: 0, end: 100_000 });
  });

  test("stays inside of the run", () => {
    expect(panned(view, -5, 100_000)).toEqual({ start: 0, end: 20_000 });
    expect(panned(view, 50, 100_000)).toEqual({ start: 80_000, end: 100_000 });
  });

  test("moves only to what it does not show already", () => {
    expect(showing(view, 25_000, 30_000, 100_000)).toBe(view);
    expect(showing(view, 60_000, 61_000, 100_000)).toEqual({ start: 50_500, end: 70_500 });
  });

  test("is walked through by keys, from what is in sight", () => {
    const slices = [slice({ id: "a" }), slice({ id: "b", start: 5_000 }), slice({ id: "c", start: 9_000 })];
    expect(nextSlice(slices, null, 1, { from: 4_000, to: 8_000 })?.id).toBe("b");
    expect(nextSlice(slices, "b", 1, ALL)?.id).toBe("c");
    expect(nextSlice(slices, "c", 1, ALL)?.id).toBe("c");
    expect(nextSlice(slices, "a", -1, ALL)?.id).toBe("a");
  });
});
