import { afterEach, describe, expect, it, vi } from "vitest";
import { readCronLine } from "../../../src/core/schedule/cron-line.ts";
import { nextPlannedAt, plannedTimes } from "../../../src/core/schedule/planned-times.ts";

/** The planned times of a line between two times, in UTC without seconds: "03-29 01:00". */
function planned(cron: string, timeZone: string, after: string, until: string): readonly string[] {
  const line = readCronLine("nightly", cron, timeZone);
  const times = plannedTimes(line, Date.parse(after), Date.parse(until), 100);
  return times.map((time) => {
    const text = new Date(time).toISOString();
    expect(text.slice(16)).toBe(":00.000Z");
    return text.slice(5, 16).replace("T", " ");
  });
}

const BERLIN = "Europe/Berlin";
const inSpring = (cron: string) => planned(cron, BERLIN, "2026-03-28T22:00Z", "2026-03-29T04:00Z");
const inAutumn = (cron: string) => planned(cron, BERLIN, "2026-10-24T22:00Z", "2026-10-25T04:00Z");

afterEach(() => vi.unstubAllGlobals());

describe("a cron line", () => {
  it("is planned strictly after a time, to the minute", () => {
    const line = readCronLine("nightly", "0 2 * * *", "UTC");
    const at = Date.parse("2026-11-17T02:00Z");
    const nextDay = Date.parse("2026-11-18T02:00Z");
    expect(nextPlannedAt(line, at - 60_000)).toBe(at);
    expect(nextPlannedAt(line, at - 1)).toBe(at);
    expect(nextPlannedAt(line, at)).toBe(nextDay);
    expect(nextPlannedAt(line, at + 1)).toBe(nextDay);
    const hourly = readCronLine("hourly", "0 * * * *", "UTC");
    expect(nextPlannedAt(hourly, at - 1)).toBe(at);
    expect(nextPlannedAt(hourly, at)).toBe(at + 3_600_000);
  });

  it("is planned in the time of its zone, in summer and in winter", () => {
    expect(planned("0 2 * * *", BERLIN, "2026-01-10T00:00Z", "2026-01-10T12:00Z")).toEqual(["01-10 01:00"]);
    expect(planned("0 2 * * *", BERLIN, "2026-07-09T12:00Z", "2026-07-10T12:00Z")).toEqual(["07-10 00:00"]);
    expect(planned("0 2 * * *", "Asia/Kathmandu", "2026-07-10T00:00Z", "2026-07-11T00:00Z")).toEqual([
      "07-10 20:15",
    ]);
    expect(planned("30 0 1 * *", BERLIN, "2026-06-01T00:00Z", "2026-07-02T00:00Z")).toEqual(["06-30 22:30"]);
  });

  it("with a day of the month and a day of the week fires on both, as in cron", () => {
    expect(planned("0 0 13 * FRI", "UTC", "2026-11-10T00:00Z", "2026-11-21T00:00Z")).toEqual([
      "11-13 00:00",
      "11-20 00:00",
    ]);
  });

  it("can name the last day of the month and a weekday by its number in the month", () => {
    expect(planned("0 0 L * *", "UTC", "2026-01-30T00:00Z", "2026-03-01T00:00Z")).toEqual([
      "01-31 00:00",
      "02-28 00:00",
    ]);
    expect(planned("0 0 * * MON#1", "UTC", "2026-11-01T00:00Z", "2026-12-31T00:00Z")).toEqual([
      "11-02 00:00",
      "12-07 00:00",
    ]);
  });

  it("waits for the next leap year, across a century without one", () => {
    for (const cron of ["0 0 29 2 *", "0 * 29 2 *"])
      expect(nextPlannedAt(readCronLine("leap", cron, "UTC"), Date.parse("2096-03-01T00:00Z"))).toBe(
        Date.parse("2104-02-29T00:00Z"),
      );
  });

  it("gives at most as many planned times as were asked for, and none that is later", () => {
    const line = readCronLine("often", "*/10 * * * *", "UTC");
    const from = Date.parse("2026-11-17T00:00Z");
    expect(plannedTimes(line, from, from + 3_600_000, 100)).toHaveLength(6);
    expect(plannedTimes(line, from, from + 3_600_000, 4)).toHaveLength(4);
    expect(plannedTimes(line, from, from + 599_999, 4)).toEqual([]);
    expect(plannedTimes(line, from, from + 600_000, 4)).toEqual([from + 600_000]);
    expect(plannedTimes(line, from, from - 1, 4)).toEqual([]);
    expect(plannedTimes(line, from, from + 3_600_000, 0)).toEqual([]);
  });

  it("refuses to plan from a time that nobody will see", () => {
    const line = readCronLine("nightly", "0 2 * * *", "UTC");
    expect(() => nextPlannedAt(line, Date.parse("3001-01-01T00:00Z"))).toThrow(/before the year 3000/);
  });

  it("is read and planned without the clock", () => {
    const RealDate = Date;
    const Clockless = new Proxy(RealDate, {
      construct: (target, given: readonly number[]) => {
        if (given.length === 0) throw new Error("The clock was read.");
        return new target(given[0] ?? 0);
      },
      apply: () => {
        throw new Error("The clock was read.");
      },
      get: (target, name) => {
        if (name === "now") throw new Error("The clock was read.");
        return Reflect.get(target, name) as unknown;
      },
    });
    vi.stubGlobal("Date", Clockless);
    expect(() => new Date()).toThrow("The clock was read.");
    const after = RealDate.UTC(2026, 2, 28);
    for (const cron of ["30 2 * * *", "30 * * * *", "0 0 L * MON#1", "@weekly"])
      expect(plannedTimes(readCronLine("nightly", cron, BERLIN), after, after + 1e10, 5)).not.toEqual([]);
  });
});

describe("in the hour that clocks skip in spring, a line", () => {
  it("with that hour fires once, at the first moment after the gap", () => {
    expect(inSpring("0 2 * * *")).toEqual(["03-29 01:00"]);
    expect(inSpring("30 2 * * *")).toEqual(["03-29 01:00"]);
    expect(planned("30 2 * * *", BERLIN, "2026-03-29T01:00Z", "2026-03-31T00:00Z")).toEqual(["03-30 00:30"]);
  });

  it("with several times in that hour, or one right after it, fires once for all of them", () => {
    expect(inSpring("0,30 2 * * *")).toEqual(["03-29 01:00"]);
    expect(inSpring("*/5 2 * * *")).toEqual(["03-29 01:00"]);
    expect(inSpring("0 2,3 * * *")).toEqual(["03-29 01:00"]);
    expect(inSpring("30 1-3 * * *")).toEqual(["03-29 00:30", "03-29 01:00", "03-29 01:30"]);
  });

  it("of every hour or every few minutes does not fire", () => {
    expect(inSpring("30 * * * *")).toEqual([
      "03-28 22:30",
      "03-28 23:30",
      "03-29 00:30",
      "03-29 01:30",
      "03-29 02:30",
      "03-29 03:30",
    ]);
    // 0:00, no 2:00, 4:00 and 6:00 in Berlin.
    expect(inSpring("0 */2 * * *")).toEqual(["03-28 23:00", "03-29 02:00", "03-29 04:00"]);
    expect(inSpring("*/30 * * * *")).toHaveLength(12);
  });

  it("follows these rules in New York and on Lord Howe, where the gap has 30 minutes", () => {
    const inNewYork = (cron: string) =>
      planned(cron, "America/New_York", "2026-03-08T05:00Z", "2026-03-08T09:00Z");
    expect(inNewYork("15 2 * * *")).toEqual(["03-08 07:00"]);
    expect(inNewYork("15 * * * *")).toEqual(["03-08 05:15", "03-08 06:15", "03-08 07:15", "03-08 08:15"]);
    // 2:00 becomes 2:30 at 15:30 in UTC.
    const onLordHowe = (cron: string) =>
      planned(cron, "Australia/Lord_Howe", "2026-10-03T14:00Z", "2026-10-03T17:00Z");
    expect(onLordHowe("15 2 * * *")).toEqual(["10-03 15:30"]);
    expect(onLordHowe("45 2 * * *")).toEqual(["10-03 15:45"]);
    expect(onLordHowe("15 * * * *")).toEqual(["10-03 14:45", "10-03 16:15"]);
  });

  it("fires once for a whole day that a zone skips", () => {
    // Samoa had no 30 December 2011.
    expect(planned("0 12 * * *", "Pacific/Apia", "2011-12-29T00:00Z", "2011-12-31T12:00Z")).toEqual([
      "12-29 22:00",
      "12-30 10:00",
      "12-30 22:00",
    ]);
  });
});

describe("in the hour that clocks repeat in autumn, a line", () => {
  it("with that hour fires once, at the first of the two", () => {
    expect(inAutumn("0 2 * * *")).toEqual(["10-25 00:00"]);
    expect(inAutumn("30 2 * * *")).toEqual(["10-25 00:30"]);
    expect(inAutumn("0,30 2 * * *")).toEqual(["10-25 00:00", "10-25 00:30"]);
    expect(inAutumn("0 2,3 * * *")).toEqual(["10-25 00:00", "10-25 02:00"]);
  });

  it("does not fire a second time if it is planned from within that hour", () => {
    expect(planned("30 2 * * *", BERLIN, "2026-10-25T00:45Z", "2026-10-26T02:00Z")).toEqual(["10-26 01:30"]);
    expect(planned("30 2 * * *", BERLIN, "2026-10-25T01:15Z", "2026-10-26T02:00Z")).toEqual(["10-26 01:30"]);
  });

  it("of every hour or every few minutes fires in both", () => {
    expect(inAutumn("30 * * * *")).toEqual([
      "10-24 22:30",
      "10-24 23:30",
      "10-25 00:30",
      "10-25 01:30",
      "10-25 02:30",
      "10-25 03:30",
    ]);
    // 0:00, both 2:00, and 4:00 in Berlin.
    expect(inAutumn("0 */2 * * *")).toEqual(["10-25 00:00", "10-25 01:00", "10-25 03:00"]);
  });

  it("follows these rules in New York and on Lord Howe, where 30 minutes are repeated", () => {
    const inNewYork = (cron: string) =>
      planned(cron, "America/New_York", "2026-11-01T04:00Z", "2026-11-01T08:00Z");
    expect(inNewYork("15 1 * * *")).toEqual(["11-01 05:15"]);
    expect(inNewYork("15 * * * *")).toEqual(["11-01 04:15", "11-01 05:15", "11-01 06:15", "11-01 07:15"]);
    // 2:00 becomes 1:30 at 15:00 in UTC.
    const onLordHowe = (cron: string) =>
      planned(cron, "Australia/Lord_Howe", "2026-04-04T13:00Z", "2026-04-04T16:00Z");
    expect(onLordHowe("45 1 * * *")).toEqual(["04-04 14:45"]);
    expect(onLordHowe("45 * * * *")).toEqual(["04-04 13:45", "04-04 14:45", "04-04 15:15"]);
  });

  it("of every hour finds the first of two midnights, from half a year before", () => {
    // Cuba repeats the hour after midnight.
    expect(planned("0 * 1 11 *", "America/Havana", "2026-02-01T00:00Z", "2026-11-01T05:30Z")).toEqual([
      "11-01 04:00",
      "11-01 05:00",
    ]);
  });
});
