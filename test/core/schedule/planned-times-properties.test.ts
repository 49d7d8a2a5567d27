import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readCronLine } from "../../../src/core/schedule/cron-line.ts";
import { plannedTimes } from "../../../src/core/schedule/planned-times.ts";
import { IS_FULL_TEST } from "../../full-test.ts";

const MINUTE = 60_000;
const RUNS = { numRuns: IS_FULL_TEST ? 100 : 40 };

/** Days around a change of clocks, or around none, with what clocks show in each of their minutes. */
type Days = {
  readonly timeZone: string;
  readonly from: number;
  readonly until: number;
  /** A function, so that the report of a property does not print all of them. */
  readonly minutes: () => readonly { readonly at: number; readonly wall: number }[];
};

const DAYS = [
  daysFrom("Europe/Berlin", "2026-03-28T00:00Z"),
  daysFrom("Europe/Berlin", "2026-10-24T00:00Z"),
  daysFrom("America/New_York", "2026-03-07T00:00Z"),
  daysFrom("America/New_York", "2026-10-31T00:00Z"),
  daysFrom("Australia/Lord_Howe", "2026-04-03T12:00Z"),
  daysFrom("Australia/Lord_Howe", "2026-10-02T12:00Z"),
  daysFrom("America/Havana", "2026-10-31T00:00Z"),
  daysFrom("Asia/Tokyo", "2026-03-28T00:00Z"),
];

/** Reads clocks in another way than the code does. */
function daysFrom(timeZone: string, start: string): Days {
  const from = Date.parse(start);
  const until = from + 3 * 24 * 60 * MINUTE;
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "medium" });
  const minutes = Array.from({ length: (until - from) / MINUTE + 1 }, (_, index) => {
    const at = from + index * MINUTE;
    return { at, wall: Date.parse(`${format.format(at).replace(" ", "T")}Z`) };
  });
  return { timeZone, from, until, minutes: () => minutes };
}

type Field = { readonly text: string; readonly has: (value: number) => boolean };

function fieldFrom(least: number, most: number, longestStep: number): fc.Arbitrary<Field> {
  const value = fc.integer({ min: least, max: most });
  return fc.oneof(
    fc.constant<Field>({ text: "*", has: () => true }),
    fc
      .integer({ min: 2, max: longestStep })
      .map((step): Field => ({ text: `*/${step}`, has: (each) => (each - least) % step === 0 })),
    value.map((only): Field => ({ text: String(only), has: (each) => each === only })),
    fc
      .uniqueArray(value, { minLength: 2, maxLength: 4 })
      .map((all): Field => ({ text: all.join(","), has: (each) => all.includes(each) })),
    fc.tuple(value, value).map(([a, b]): Field => {
      const [low, high] = [Math.min(a, b), Math.max(a, b)];
      return { text: `${low}-${high}`, has: (each) => each >= low && each <= high };
    }),
  );
}

/** Mostly hours at night, when clocks change. */
const hour = fc.oneof(
  { weight: 3, arbitrary: fieldFrom(0, 4, 12) },
  { weight: 1, arbitrary: fieldFrom(0, 23, 12) },
);

const lines = fc.record({
  minute: fieldFrom(0, 59, 30),
  hour,
  weekday: fc.oneof(
    { weight: 3, arbitrary: fc.constant<Field>({ text: "*", has: () => true }) },
    { weight: 1, arbitrary: fieldFrom(0, 6, 6) },
  ),
  days: fc.constantFrom(...DAYS),
});
type Line = typeof lines extends fc.Arbitrary<infer T> ? T : never;

const isNamed = ({ minute, hour: hours, weekday }: Line, wall: number) => {
  const date = new Date(wall);
  return minute.has(date.getUTCMinutes()) && hours.has(date.getUTCHours()) && weekday.has(date.getUTCDay());
};
const isWildcard = (line: Line) => line.hour.text.startsWith("*");
const lineOf = (line: Line) =>
  readCronLine("any", `${line.minute.text} ${line.hour.text} * * ${line.weekday.text}`, line.days.timeZone);
const plannedIn = (line: Line) => plannedTimes(lineOf(line), line.days.from, line.days.until, 10_000);

/** What the rules say, by trying every minute. A wall time belongs to the first moment that shows it or a later one. */
function byTheRules(line: Line): readonly number[] {
  const { from } = line.days;
  const minutes = line.days.minutes();
  if (isWildcard(line))
    return minutes.filter(({ at, wall }) => at > from && isNamed(line, wall)).map(({ at }) => at);
  let latest = minutes[0]?.wall ?? 0;
  const times: number[] = [];
  for (const { at, wall } of minutes.slice(1)) {
    let isDue = false;
    for (; latest < wall; latest += MINUTE) isDue ||= isNamed(line, latest + MINUTE);
    if (isDue) times.push(at);
  }
  return times;
}

describe("for any cron line, around any change of clocks", () => {
  it("the planned times are those of the rules, found by trying every minute", () => {
    let seen = 0;
    fc.assert(
      fc.property(lines, (line) => {
        const times = plannedIn(line);
        expect(times).toEqual(byTheRules(line));
        seen += times.length;
      }),
      RUNS,
    );
    expect(seen).toBeGreaterThan(1_000);
  });

  it("planned times only increase", () => {
    fc.assert(
      fc.property(lines, (line) => {
        plannedIn(line).reduce((before, time) => {
          expect(time).toBeGreaterThan(before);
          return time;
        }, line.days.from);
      }),
      RUNS,
    );
  });

  it("clocks show a time of the line, unless it was moved out of a gap", () => {
    let moved = 0;
    fc.assert(
      fc.property(lines, (line) => {
        const walls = new Map(line.days.minutes().map(({ at, wall }) => [at, wall]));
        for (const time of plannedIn(line)) {
          const [before = 0, wall = 0] = [walls.get(time - MINUTE), walls.get(time)];
          if (isNamed(line, wall)) continue;
          expect(isWildcard(line)).toBe(false);
          // Clocks skip something right before it.
          expect(wall - before).toBeGreaterThan(MINUTE);
          moved++;
        }
      }),
      { numRuns: 2 * RUNS.numRuns },
    );
    expect(moved).toBeGreaterThan(0);
  });

  it("planning from any time in between gives the same planned times", () => {
    const cut = fc.integer({ min: 0, max: 3 * 24 * 60 * MINUTE });
    fc.assert(
      fc.property(lines, cut, (line, after) => {
        const { from, until } = line.days;
        const [first, rest] = [
          plannedTimes(lineOf(line), from, from + after, 10_000),
          plannedTimes(lineOf(line), from + after, until, 10_000),
        ];
        expect([...first, ...rest]).toEqual(plannedIn(line));
      }),
      RUNS,
    );
  });

  it("nothing is planned twice for one time on the clock, unless the hour is a wildcard", () => {
    let twice = 0;
    fc.assert(
      fc.property(lines, (line) => {
        const walls = new Map(line.days.minutes().map(({ at, wall }) => [at, wall]));
        const times = plannedIn(line);
        const shown = new Set(times.map((time) => walls.get(time)));
        if (isWildcard(line)) twice += times.length - shown.size;
        else expect(shown.size).toBe(times.length);
      }),
      RUNS,
    );
    expect(twice).toBeGreaterThan(0);
  });
});
