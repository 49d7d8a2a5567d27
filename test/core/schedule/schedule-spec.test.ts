import { describe, expect, it } from "vitest";
import { ConfigurationError, PawlError } from "../../../src/core/errors.ts";
import {
  assertScheduleSpec,
  type ScheduleSpec,
  scheduleHash,
} from "../../../src/core/schedule/schedule-spec.ts";

const NIGHTLY: ScheduleSpec = { pipeline: "report", cron: "0 2 * * *" };
const FULL: ScheduleSpec = {
  ...NIGHTLY,
  timeZone: "Europe/Berlin",
  input: { day: "yesterday", limits: [1, 2] },
  overlap: "queue",
  catchUp: "all",
  queue: "slow",
  priority: -5,
  metadata: { team: "billing" },
};

function refusal(value: unknown, name: unknown = "nightly"): string {
  try {
    assertScheduleSpec(name, value);
  } catch (error) {
    expect(PawlError.isInstance(error)).toBe(true);
    return (error as Error).message;
  }
  return "it was accepted";
}
const refusalWith = (part: object) => refusal({ ...NIGHTLY, ...part });

describe("a schedule", () => {
  it("runs in UTC, skips overlaps and catches up with the last planned time, unless it says otherwise", () => {
    expect(assertScheduleSpec("nightly", NIGHTLY)).toEqual({
      name: "nightly",
      pipeline: "report",
      cron: "0 2 * * *",
      timeZone: "UTC",
      overlap: "skip",
      catchUp: "last",
    });
    expect(assertScheduleSpec("nightly", FULL)).toEqual({ name: "nightly", ...FULL });
  });

  it("has its defaults also where an option is undefined", () => {
    const given = { ...NIGHTLY, timeZone: undefined, overlap: undefined, input: undefined };
    expect(assertScheduleSpec("nightly", given)).toEqual(assertScheduleSpec("nightly", NIGHTLY));
  });

  it.each(["nightly", "a", "Report_2.daily-eu", "7", "x".repeat(100)])("may be named %s", (name) => {
    expect(assertScheduleSpec(name, NIGHTLY).name).toBe(name);
  });

  it.each(["", " ", "a b", "a/b", "-a", ".a", "a..b", "a@b", "a:b", "ä", "x".repeat(101), 7, null])(
    "may not be named %j",
    (name) => {
      expect(refusal(NIGHTLY, name)).toContain('cannot name a schedule: use 1 to 100 letters, digits, "-"');
    },
  );

  it("is refused with an unknown option, and gets the name that was meant", () => {
    expect(refusalWith({ catchup: "all" })).toBe('Schedule nightly has no "catchup": did you mean catchUp?');
    expect(refusalWith({ timezone: "UTC" })).toBe(
      'Schedule nightly has no "timezone": did you mean timeZone?',
    );
    expect(refusalWith({ tz: "UTC" })).toContain("did you mean timeZone?");
    expect(refusalWith({ every: "10m" })).toContain("give a cron line instead");
    expect(refusalWith({ account: "x" })).toContain("use one of pipeline, cron, timeZone");
  });

  it("is an object", () => {
    expect(refusal("0 2 * * *")).toBe(
      "Schedule nightly is a string: give an object with named options, such as { pipeline }.",
    );
    expect(refusal(null)).toContain("Schedule nightly is null");
    expect(refusal([NIGHTLY])).toContain("Schedule nightly is a list");
  });

  it("names a pipeline and a cron line", () => {
    expect(refusal({ cron: "0 2 * * *" })).toContain(
      "The pipeline of schedule nightly is undefined: give the name of the pipeline that it starts",
    );
    expect(refusalWith({ pipeline: " " })).toContain('The pipeline of schedule nightly is " "');
    expect(refusalWith({ pipeline: "x".repeat(201) })).toContain("is a string: give the name");
    expect(refusal({ pipeline: "report" })).toContain("The cron of schedule nightly is undefined");
    expect(refusalWith({ cron: "0 0 30 2 *" })).toContain("which never fires");
    expect(refusalWith({ timeZone: "Berlin" })).toContain('unknown time zone "Berlin"');
  });

  it("has policies that exist", () => {
    expect(refusalWith({ overlap: "wait" })).toBe(
      'The overlap of schedule nightly is "wait": give one of "skip", "queue", "cancel", "allow".',
    );
    expect(refusalWith({ overlap: null })).toContain("The overlap of schedule nightly is null");
    expect(refusalWith({ catchUp: true })).toBe(
      'The catchUp of schedule nightly is true: give one of "none", "last", "all".',
    );
  });

  it("has an input and metadata that can be stored", () => {
    expect(refusalWith({ input: { at: new Date(0) } })).toContain(
      "The input of schedule nightly is not JSON: $.at is a Date",
    );
    expect(refusalWith({ metadata: { team: 7 } })).toBe(
      'The metadata of schedule nightly has a number as "team": give an object of texts, such as { team: "billing" }.',
    );
    expect(refusalWith({ metadata: ["x"] })).toContain("The metadata of schedule nightly is a list");
    expect(refusalWith({ metadata: "x" })).toContain("The metadata of schedule nightly is a string");
    expect(refusalWith({ metadata: null })).toContain("The metadata of schedule nightly is null");
  });

  it("has a queue that is a text and a priority that is an integer", () => {
    expect(refusalWith({ queue: "" })).toContain(
      'The queue of schedule nightly is "": give the name of a queue',
    );
    expect(refusalWith({ queue: 5 })).toContain("The queue of schedule nightly is 5");
    for (const priority of [1.5, Number.NaN, "high", 2 ** 60])
      expect(refusalWith({ priority })).toContain("give an integer, or leave it out.");
    expect(() => assertScheduleSpec("nightly", { ...NIGHTLY, priority: 1.5 })).toThrow(ConfigurationError);
  });
});

describe("the hash of a schedule", () => {
  const hash = (spec: ScheduleSpec) => scheduleHash(assertScheduleSpec("nightly", spec));

  it("stays the same if a default is written out, and for another order of names", () => {
    expect(hash({ ...NIGHTLY, timeZone: "UTC", overlap: "skip", catchUp: "last" })).toBe(hash(NIGHTLY));
    expect(hash({ ...FULL, input: { limits: [1, 2], day: "yesterday" } })).toBe(hash(FULL));
    expect(hash({ cron: NIGHTLY.cron, pipeline: NIGHTLY.pipeline })).toBe(hash(NIGHTLY));
  });

  it("changes with each option", () => {
    const edits: readonly Partial<ScheduleSpec>[] = [
      { pipeline: "other" },
      { cron: "0 3 * * *" },
      { timeZone: "Asia/Tokyo" },
      { input: null },
      { overlap: "cancel" },
      { catchUp: "none" },
      { queue: "fast" },
      { priority: 0 },
      { metadata: {} },
    ];
    const hashes = new Set([hash(FULL), ...edits.map((edit) => hash({ ...FULL, ...edit }))]);
    expect(hashes.size).toBe(edits.length + 1);
    expect([...hashes].every((each) => /^[0-9a-f]{64}$/.test(each))).toBe(true);
  });

  it("does not depend on the schedule's name", () => {
    expect(scheduleHash(assertScheduleSpec("other", NIGHTLY))).toBe(hash(NIGHTLY));
  });
});
