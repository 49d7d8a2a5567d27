import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type ConfiguredSchedule,
  decideSchedule,
  type ScheduleDecision,
  type StoredSchedule,
} from "../../../src/core/schedule/schedule-decision.ts";

const NOW = Date.parse("2026-11-17T10:00Z");
const OLD: ConfiguredSchedule = { hash: "old", revision: 1 };
const NEW: ConfiguredSchedule = { hash: "new", revision: 2 };
const storedAs = (configured: ConfiguredSchedule): StoredSchedule => ({ ...configured, configuredAt: NOW });
const decide = (stored: StoredSchedule | null, configured: ConfiguredSchedule) =>
  decideSchedule("nightly", stored, configured);

/** What a store does with the decisions about a list of reports, one after the other. */
function report(stored: StoredSchedule | null, reports: readonly ConfiguredSchedule[]) {
  const changes: string[] = [];
  let now = stored;
  for (const configured of reports) {
    const decision: ScheduleDecision = decide(now, configured);
    if (decision.kind === "adopt") {
      changes.push(decision.change);
      now = storedAs(configured);
    } else if (decision.kind === "confirm" && now !== null) {
      now = { ...now, revision: configured.revision };
    }
  }
  return { stored: now, changes };
}

/** Every order of the reports of two workers, each of which reports several times. */
function interleavings<T>(first: readonly T[], second: readonly T[]): readonly (readonly T[])[] {
  const [a, b] = [first[0], second[0]];
  if (a === undefined) return [second];
  if (b === undefined) return [first];
  return [
    ...interleavings(first.slice(1), second).map((rest) => [a, ...rest]),
    ...interleavings(first, second.slice(1)).map((rest) => [b, ...rest]),
  ];
}

describe("a configuration", () => {
  it("adds a schedule that the store does not have", () => {
    expect(decide(null, OLD)).toEqual({ kind: "adopt", change: "added" });
    expect(decide(null, { hash: null, revision: 1 })).toEqual({ kind: "keep" });
  });

  it("keeps a schedule that it has in the same way, and marks it as its own if it is newer", () => {
    expect(decide(storedAs(OLD), OLD)).toEqual({ kind: "keep" });
    expect(decide(storedAs(OLD), { ...OLD, revision: 0 })).toEqual({ kind: "keep" });
    expect(decide(storedAs(OLD), { ...OLD, revision: 2 })).toEqual({ kind: "confirm" });
  });

  it("edits, removes and adds again, if it is newer", () => {
    expect(decide(storedAs(OLD), NEW)).toEqual({ kind: "adopt", change: "edited" });
    expect(decide(storedAs(OLD), { hash: null, revision: 2 })).toEqual({ kind: "adopt", change: "removed" });
    expect(decide(storedAs({ hash: null, revision: 1 }), NEW)).toEqual({ kind: "adopt", change: "added" });
  });

  it("may go back to an earlier schedule under a newer revision: that is an edit like any other", () => {
    expect(decide(storedAs(NEW), { ...OLD, revision: 3 })).toEqual({ kind: "adopt", change: "edited" });
  });

  it("that is older changes nothing, and its worker learns why", () => {
    expect(decide(storedAs(NEW), OLD)).toEqual({
      kind: "ignore",
      why: "Schedule nightly is as it was configured at 2026-11-17T10:00:00.000Z, by a newer configuration than this worker's: restart this worker with that one.",
    });
    expect(decide(storedAs({ hash: null, revision: 2 }), OLD)).toMatchObject({
      kind: "ignore",
      why: expect.stringContaining(
        "was removed at 2026-11-17T10:00:00.000Z, by a newer configuration",
      ) as string,
    });
  });

  it("with the same revision as another one, or none, changes nothing either", () => {
    expect(decide(storedAs(NEW), { hash: "other", revision: 2 })).toMatchObject({
      kind: "ignore",
      why: expect.stringContaining(
        "with the same revision 2 as this worker's: give the newer of the two",
      ) as string,
    });
    expect(decide(storedAs(NEW), { hash: "other", revision: Number.NaN }).kind).toBe("ignore");
  });
});

describe("while a new version is rolled out", () => {
  const orders = interleavings([OLD, OLD, OLD, OLD], [NEW, NEW, NEW, NEW]);

  it("the schedule changes once, in whatever order the two workers report", () => {
    expect(orders).toHaveLength(70);
    for (const order of orders)
      expect(report(storedAs(OLD), order)).toEqual({ stored: storedAs(NEW), changes: ["edited"] });
  });

  it("a schedule that is new is added once and edited at most once", () => {
    for (const order of orders) {
      const { stored, changes } = report(null, order);
      expect(stored).toEqual(storedAs(NEW));
      expect(changes).toEqual(order[0] === OLD ? ["added", "edited"] : ["added"]);
    }
  });

  it("a schedule that the new version does not have is removed once, and old workers do not bring it back", () => {
    const removed: ConfiguredSchedule = { hash: null, revision: 2 };
    for (const order of interleavings([OLD, OLD, OLD], [removed, removed, removed]))
      expect(report(storedAs(OLD), order)).toEqual({ stored: storedAs(removed), changes: ["removed"] });
  });

  it("two versions with the same revision never change what is stored", () => {
    const tied = { hash: "other", revision: 1 };
    for (const order of interleavings([OLD, OLD, OLD], [tied, tied, tied]))
      expect(report(storedAs(OLD), order)).toEqual({ stored: storedAs(OLD), changes: [] });
  });

  it("any number of versions, in any order, change it at most once for each newer revision", () => {
    const versions = fc.array(fc.record({ hash: fc.constantFrom("a", "b", "c", null), revision: fc.nat(5) }));
    let changed = 0;
    fc.assert(
      fc.property(versions, (reports) => {
        const start = storedAs({ hash: "a", revision: 0 });
        const { stored, changes } = report(start, reports);
        const newest = Math.max(0, ...reports.map(({ revision }) => revision));
        expect(stored?.revision).toBe(newest);
        expect(changes.length).toBeLessThanOrEqual(newest);
        changed += changes.length;
      }),
    );
    expect(changed).toBeGreaterThan(50);
  });
});
