import { expect, test } from "vitest";
import { failedCounts, failedWords } from "../../../dashboard/src/pages/runs/error-times.ts";

const HOUR = 3_600_000;
const SINCE = Date.parse("2026-11-17T12:00:00.000Z");
const span = {
  since: new Date(SINCE).toISOString(),
  asOf: new Date(SINCE + 5.5 * HOUR).toISOString(),
  bucketMs: HOUR,
};
const failed = (...counts: readonly (readonly [hour: number, count: number])[]) => ({
  count: counts.reduce((sum, [, count]) => sum + count, 0),
  buckets: counts.map(([hour, count]) => ({ at: new Date(SINCE + hour * HOUR).toISOString(), count })),
});

test("a bar stands for each part of the time, also where no run failed", () => {
  expect(failedCounts(span, failed([1, 3], [5, 1]))).toEqual([0, 3, 0, 0, 0, 1]);
  expect(failedCounts(span, failed())).toEqual([0, 0, 0, 0, 0, 0]);
});

test("what failed by a clock that is ahead is in the last part", () => {
  expect(failedCounts(span, failed([5, 1], [6, 2]))).toEqual([0, 0, 0, 0, 0, 3]);
  expect(failedCounts({ ...span, asOf: span.since, bucketMs: 1 }, failed([0, 2]))).toEqual([2]);
});

test("words say how many failed in which time, and when the most did", () => {
  expect(failedWords(span, failed([1, 3], [4, 7], [5, 7]))).toMatch(
    /^17 runs failed in 5 h 30 m; the most, 7, in the 1 h from \d\d Nov 2026, \d\d:\d\d:00/,
  );
  expect(failedWords(span, failed([2, 1]))).toMatch(
    /^1 run failed in 5 h 30 m, in the 1 h from \d\d Nov 2026/,
  );
});
