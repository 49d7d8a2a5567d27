import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../../../src/core/errors.ts";
import { readCronLine } from "../../../src/core/schedule/cron-line.ts";
import { nextPlannedAt } from "../../../src/core/schedule/planned-times.ts";

const AFTER = Date.parse("2026-11-17T10:30Z");
const next = (cron: string) =>
  new Date(nextPlannedAt(readCronLine("nightly", cron, "UTC"), AFTER)).toISOString().slice(0, 16);

function refusal(cron: unknown, timeZone: unknown = "UTC"): string {
  try {
    readCronLine("nightly", cron, timeZone);
  } catch (error) {
    expect(ConfigurationError.isInstance(error)).toBe(true);
    return (error as Error).message;
  }
  return "it was read";
}

describe("a cron line", () => {
  it.each([
    ["@hourly", "2026-11-17T11:00"],
    ["@daily", "2026-11-18T00:00"],
    ["@midnight", "2026-11-18T00:00"],
    ["@weekly", "2026-11-22T00:00"],
    ["@monthly", "2026-12-01T00:00"],
    ["@yearly", "2027-01-01T00:00"],
    ["@Annually", "2027-01-01T00:00"],
  ])("may be the nickname %s", (cron, expected) => {
    expect(next(cron)).toBe(expected);
  });

  it("may have any space between its fields and around them, and names in any case", () => {
    expect(next("  0\t2  * * \n* ")).toBe("2026-11-18T02:00");
    expect(next("0 2 * dec Sun-tue")).toBe("2026-12-01T02:00");
  });

  it("counts Sunday as 0 and as 7", () => {
    expect(next("0 0 * * 0")).toBe("2026-11-22T00:00");
    expect(next("0 0 * * 7")).toBe("2026-11-22T00:00");
  });

  it.each(["*", "*/2", "*/1"])("follows real time with the hour %s", (hour) => {
    expect(readCronLine("often", `0 ${hour} * * *`, "UTC").followsRealTime).toBe(true);
  });

  it.each(["2", "0-23", "0-23/2", "1,2", "*,2"])("names times of the day with the hour %s", (hour) => {
    expect(readCronLine("often", `0 ${hour} * * *`, "UTC").followsRealTime).toBe(false);
  });
});

describe("a cron line is refused", () => {
  it("if it has seconds or years", () => {
    expect(refusal("0 0 2 * * *")).toBe(
      'Schedule nightly has the cron line "0 0 2 * * *" with 6 fields: give five (minute, hour, day of the month, month, day of the week); seconds and years are not supported.',
    );
    expect(refusal("0 0 2 * * * 2027")).toContain("with 7 fields: give five");
  });

  it("if it has too few fields", () => {
    expect(refusal("0 2 *")).toBe(
      'Schedule nightly has the cron line "0 2 *" with 3 fields: give five (minute, hour, day of the month, month, day of the week).',
    );
    expect(refusal("2026-11-17T02:00:00")).toContain("with 1 field: give five");
  });

  it("if it is blank or no text", () => {
    expect(refusal("")).toContain("The cron line of schedule nightly is blank: give five fields");
    expect(refusal(" \n")).toContain("is blank");
    expect(refusal(5)).toBe(
      'The cron of schedule nightly is a number: give a cron line as text, such as "0 2 * * *".',
    );
    expect(refusal(undefined)).toContain("is undefined: give a cron line");
    expect(refusal(["0 2 * * *"])).toContain("is a list: give a cron line");
  });

  it("if it is an unknown nickname", () => {
    expect(refusal("@nightly")).toBe(
      'Schedule nightly has the cron line "@nightly": give one of @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually, or five fields.',
    );
    expect(refusal("@reboot")).toContain("give one of @hourly");
    expect(refusal("constructor")).toContain("with 1 field");
  });

  it.each([
    ["60 2 * * *", 'minute "60"', "a number from 0 to 59"],
    ["0 24 * * *", 'hour "24"', "a number from 0 to 23"],
    ["0 2 32 * *", 'day of the month "32"', "a number from 1 to 31"],
    ["0 2 0 * *", 'day of the month "0"', "a number from 1 to 31"],
    ["0 2 * 13 *", 'month "13"', "a name from JAN to DEC"],
    ["0 2 * FOO *", 'month "FOO"', "a name from JAN to DEC"],
    ["0 2 * * 8", 'day of the week "8"', "a name from SUN to SAT"],
    ["5/5 2 * * *", 'minute "5/5"', "a step such as */2"],
    ["*/0 2 * * *", 'minute "*/0"', "a step such as */2"],
    ["0 5-1 * * *", 'hour "5-1"', "a range such as 1-5"],
    ["0,,1 2 * * *", 'minute "0,,1"', "a list such as 1,3"],
    ["1.5 2 * * *", 'minute "1.5"', "a number from 0 to 59"],
    ["-1 2 * * *", 'minute "-1"', "a number from 0 to 59"],
  ])("if a field of it cannot be read: %s", (cron, what, give) => {
    expect(refusal(cron)).toContain(
      `Schedule nightly has the cron line "${cron}", whose ${what} cannot be read`,
    );
    expect(refusal(cron)).toContain(give);
  });

  it.each(["? 2 * * *", "0 ? * * *", "0 2 ? * *", "0 2 * * ?"])(
    "if it has a question mark, which stands for the present time: %s",
    (cron) => {
      expect(refusal(cron)).toContain('"?" cannot be read');
    },
  );

  it.each(["0 0 30 2 *", "0 0 31 4,6,9,11 *", "* * 31 2 *"])("if it never fires: %s", (cron) => {
    expect(refusal(cron)).toBe(
      `Schedule nightly has the cron line "${cron}", which never fires: give a day that one of its months has.`,
    );
  });

  it("if its time zone is unknown, an offset or no text", () => {
    expect(refusal("@daily", "Mars/Phobos")).toBe(
      'Schedule nightly has the unknown time zone "Mars/Phobos": give a name of the IANA database, such as "Europe/Berlin" or "UTC".',
    );
    expect(refusal("@daily", "+02:00")).toContain('unknown time zone "+02:00"');
    expect(refusal("@daily", "")).toContain('unknown time zone ""');
    expect(refusal("@daily", 2)).toContain("The time zone of schedule nightly is a number");
    expect(refusal("@daily", null)).toContain("The time zone of schedule nightly is null");
  });
});
