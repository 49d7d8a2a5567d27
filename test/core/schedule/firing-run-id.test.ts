import { describe, expect, it } from "vitest";
import { assertChosenRunId } from "../../../src/core/run-key.ts";
import { readCronLine } from "../../../src/core/schedule/cron-line.ts";
import { firingRunId } from "../../../src/core/schedule/firing-run-id.ts";
import { plannedTimes } from "../../../src/core/schedule/planned-times.ts";
import { assertRunId } from "../../../src/core/step-path.ts";

describe("the id of a schedule's run", () => {
  it("holds the planned time in UTC, to the minute", () => {
    expect(firingRunId("nightly", Date.parse("2026-11-17T01:00Z"))).toBe("nightly@2026-11-17T01:00Z");
  });

  it("is a run id for the longest name, and never one that is derived from a key", () => {
    const longest = firingRunId("x".repeat(100), Date.parse("2026-11-17T01:00Z"));
    expect(longest).toHaveLength(118);
    expect(() => assertRunId(longest)).not.toThrow();
    const name = `key-${"a".repeat(32)}`;
    expect(() => assertChosenRunId(name)).toThrow();
    expect(() => assertChosenRunId(firingRunId(name, 0))).not.toThrow();
  });

  it("differs between the two hours that clocks repeat", () => {
    const line = readCronLine("hourly", "0 * * * *", "Europe/Berlin");
    const times = plannedTimes(line, Date.parse("2026-10-24T23:30Z"), Date.parse("2026-10-25T01:30Z"), 9);
    expect(times.map((time) => firingRunId("hourly", time))).toEqual([
      "hourly@2026-10-25T00:00Z",
      "hourly@2026-10-25T01:00Z",
    ]);
  });

  it("is refused for a time that is no planned time, and for a name that no schedule has", () => {
    for (const time of [1, 60_001, 0.5, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => firingRunId("nightly", time)).toThrow(
        /is no planned time of schedule nightly: give a whole minute/,
      );
    expect(() => firingRunId("a b", 0)).toThrow(/cannot name a schedule/);
  });
});
