import { describe, expect, it } from "vitest";
import {
  type DueFirings,
  dueFirings,
  type FiringDecision,
  GRACE_MS,
  MOST_PER_LOOK,
  MOST_RUNS_PER_LOOK,
} from "../../../src/core/schedule/due-firings.ts";
import { assertScheduleSpec, type CatchUpPolicy } from "../../../src/core/schedule/schedule-spec.ts";

const at = (text: string) => Date.parse(`2026-11-${text}Z`);
const schedule = (catchUp: CatchUpPolicy, cron = "0 2 * * *") =>
  assertScheduleSpec("nightly", { pipeline: "report", cron, catchUp });

/** "fire 17T02:00" and "missed 3 from 14T02:00 to 16T02:00", in order. */
function texts({ decisions }: DueFirings): readonly string[] {
  const short = (time: number) => new Date(time).toISOString().slice(8, 16);
  return decisions.map((each: FiringDecision) =>
    each.kind === "fire"
      ? `fire ${short(each.plannedAt)}`
      : `missed ${each.count} from ${short(each.plannedAt)} to ${short(each.until)}`,
  );
}

const POLICIES = ["none", "last", "all"] as const;

describe.each(POLICIES)("with catchUp %s", (catchUp) => {
  it("nothing fires before its planned time, and the next look is then", () => {
    expect(dueFirings(schedule(catchUp), at("16T02:00"), at("17T01:59"))).toEqual({
      decisions: [],
      lastPlannedAt: at("16T02:00"),
      nextAt: at("17T02:00"),
    });
  });

  it("a planned time fires when it comes, and up to a minute later", () => {
    for (const late of [0, 1, GRACE_MS])
      expect(dueFirings(schedule(catchUp), at("16T02:00"), at("17T02:00") + late)).toEqual({
        decisions: [{ kind: "fire", plannedAt: at("17T02:00") }],
        lastPlannedAt: at("17T02:00"),
        nextAt: at("18T02:00"),
      });
  });

  it("a planned time that was decided does not fire again, even if the clock runs backwards", () => {
    for (const now of ["17T02:00", "17T01:00", "15T00:00"])
      expect(dueFirings(schedule(catchUp), at("17T02:00"), at(now))).toEqual({
        decisions: [],
        lastPlannedAt: at("17T02:00"),
        nextAt: at("18T02:00"),
      });
  });

  it("looks after an outage decide each planned time once, however many they are", () => {
    const [from, until] = [at("01T00:00"), at("03T12:34")];
    let [seen, fired, looks, last] = [0, 0, 0, from];
    for (let nextAt = from; nextAt <= until; looks++) {
      const look = dueFirings(schedule(catchUp, "* * * * *"), last, until);
      expect(look.decisions.length).toBeLessThanOrEqual(MOST_PER_LOOK);
      for (const each of look.decisions) {
        expect(each.plannedAt).toBe(from + (seen + 1) * 60_000);
        const count = each.kind === "fire" ? 1 : each.count;
        if (each.kind === "missed") expect(each.until).toBe(each.plannedAt + (count - 1) * 60_000);
        else fired++;
        seen += count;
      }
      ({ lastPlannedAt: last, nextAt } = look);
    }
    expect(seen).toBe((until - from) / 60_000);
    expect(looks).toBe(Math.ceil(seen / (catchUp === "all" ? MOST_RUNS_PER_LOOK : MOST_PER_LOOK)));
    // The last planned time is due at this very moment, and the one before it is still within the grace.
    expect(fired).toBe({ none: 2, last: 1, all: seen }[catchUp]);
  });
});

describe("after an outage of three days", () => {
  const look = (catchUp: CatchUpPolicy, now = "17T09:00") =>
    dueFirings(schedule(catchUp), at("13T02:00"), at(now));

  it('catchUp "none" fires nothing that is more than a minute late', () => {
    expect(texts(look("none"))).toEqual(["missed 4 from 14T02:00 to 17T02:00"]);
    expect(texts(look("none", "17T02:01"))).toEqual(["missed 3 from 14T02:00 to 16T02:00", "fire 17T02:00"]);
    expect(texts(dueFirings(schedule("none"), at("16T02:00"), at("17T02:01") + 1))).toEqual([
      "missed 1 from 17T02:00 to 17T02:00",
    ]);
  });

  it('catchUp "last" fires the last planned time only', () => {
    expect(texts(look("last"))).toEqual(["missed 3 from 14T02:00 to 16T02:00", "fire 17T02:00"]);
  });

  it('catchUp "all" fires all of them, in order', () => {
    expect(texts(look("all"))).toEqual(["fire 14T02:00", "fire 15T02:00", "fire 16T02:00", "fire 17T02:00"]);
  });

  it("all is decided, so the next look is at the next planned time", () => {
    for (const catchUp of POLICIES)
      expect(look(catchUp)).toMatchObject({ lastPlannedAt: at("17T02:00"), nextAt: at("18T02:00") });
  });

  it("what was missed says why, by the name of the schedule and its policy", () => {
    expect(look("none").decisions[0]).toMatchObject({
      why: 'No worker looked at schedule nightly within a minute, and its catchUp is "none".',
    });
    expect(look("last").decisions[0]).toMatchObject({
      why: 'A later planned time of schedule nightly was due as well, and its catchUp is "last".',
    });
  });
});

describe("an outage of a year", () => {
  it('fires nothing under "last" until the look that reaches the present', () => {
    const now = at("17T00:00");
    const first = dueFirings(schedule("last", "* * * * *"), now - 365 * 24 * 3_600_000, now);
    expect(first.decisions).toHaveLength(1);
    expect(first.decisions[0]).toMatchObject({ kind: "missed", count: MOST_PER_LOOK });
    expect(first.nextAt).toBeLessThan(now);
    const end = dueFirings(schedule("last", "* * * * *"), now - MOST_PER_LOOK * 60_000, now);
    expect(end.decisions.at(-1)).toEqual({ kind: "fire", plannedAt: now });
  });
});
