// Every scenario with a crash at some or all of its points, and a new process that continues.

import { describe, expect, it } from "vitest";
import type { OwnInvariant } from "../../../src/testing/crash/invariant.ts";
import { INVARIANTS } from "../../../src/testing/crash/invariants/index.ts";
import { INTENT_NAMES, type Intent } from "../../../src/testing/crash/ported-store.ts";
import { PATIENCE } from "../../patience.ts";
import { explored, sumOf } from "./explored-scenario.ts";
import { EXPLORED_NAMES } from "./scenarios/index.ts";

const NAMES = EXPLORED_NAMES;

/** The number of points of each scenario; `npm run explore -- --modes crash`, as in the full test, takes all of them. */
const CRASHES = 5;
const HOW = { modes: ["crash"], seed: 20_260, crashes: CRASHES } as const;

/** The invariants that have checked nothing so far in any disturbed run. */
const unproven = new Map(INVARIANTS.map((invariant) => [invariant.name, invariant]));

const proves: OwnInvariant = (evidence) => {
  if (evidence.undisturbed === null) return null;
  for (const { name, judge } of unproven.values()) if (judge(evidence).looked > 0) unproven.delete(name);
  return null;
};

const explore = (name: string) => explored(name, { ...HOW, invariants: { proves } });
const exploreAll = () => Promise.all(NAMES.map(explore));

/**
 * Only a process that is closed or has lost its lease interrupts a run. Moving one takes two stores:
 * test/store/bundle/killed-moves.test.ts kills that.
 */
const NOT_OF_RUNNERS: ReadonlySet<string> = new Set<Intent>([
  "interruptRun",
  // Other people stop an exchange: `conversation-stop` does it while a tool is at work.
  "requestStop",
  "moveRun",
  "beginArrival",
  "dropArrivingRows",
  "storeArrivingRows",
  "finishArrival",
  // Of servers: each is one transaction, and touches no run.
  "grantAccess",
  "redeemCode",
  "revokeAccess",
  "endSession",
  "noteAccessUse",
  "recordAudit",
  "trimAudit",
  // Of admins, the same.
  "removeWebhook",
  "rotateWebhook",
  "testWebhook",
  "sendAgain",
]);

describe("a process that dies", () => {
  it.for(NAMES)("at any point of %s leaves a run that keeps every promise", PATIENCE, async (name) => {
    const report = await explore(name);
    report.assertKept();
    expect(report.counts.schedules).toBe(1 + Math.min(report.points.length, CRASHES));
  });
});

describe("the explorer", () => {
  it("knows the points before and after every call through a port", PATIENCE, async () => {
    const crashes = sumOf((await exploreAll()).map(({ counts }) => counts.points));
    const calls = new Set(Object.keys(crashes).map((point) => point.split(" ")[1] ?? ""));
    for (const intent of INTENT_NAMES)
      if (!NOT_OF_RUNNERS.has(intent)) expect(calls).toContain(`store.${intent}`);
    for (const other of ["model", "clock.sleep", "tool.charge", "reconcile.ship", "file.report.pdf"])
      expect(calls).toContain(other);
    for (const call of calls)
      for (const phase of ["before", "after"])
        expect(crashes[`${phase} ${call} 1`], `${phase} ${call}`).toBeGreaterThanOrEqual(0);
  });

  it("reaches every point of its schedules", PATIENCE, async () => {
    const missed = (await exploreAll()).flatMap(({ scenario, counts }) =>
      counts.missed > 0 ? [scenario.name] : [],
    );
    expect(missed).toEqual([]);
  });

  it("tests every promise in a disturbed run", PATIENCE, async () => {
    await exploreAll();
    // No process is silent and alive here; pauses.test.ts tests that.
    expect([...unproven.keys()]).toEqual(["silence-is-no-proof"]);
  });

  it("runs hundreds of crashes", PATIENCE, async () => {
    const crashes = (await exploreAll()).reduce((sum, { counts }) => sum + counts.disturbances, 0);
    expect(crashes).toBeGreaterThan(200);
  });
});
