// The other ways in which a process ends: with a graceful close, and with a disk that is full for a while.

import { describe, expect, it } from "vitest";
import { PATIENCE } from "../../patience.ts";
import { explored } from "./explored-scenario.ts";
import { EXPLORED_NAMES } from "./scenarios/index.ts";

/** The number of points of each scenario; `npm run explore -- --modes close,disk` takes all of them. */
const ENDS = 1;

describe("a process that closes its store in mid-run, or whose disk is full for a while", () => {
  it.for(EXPLORED_NAMES)("in %s leaves a run that keeps every promise", PATIENCE, async (name) => {
    const report = await explored(name, { modes: ["close", "disk"], ends: ENDS, seed: 20_261 });
    report.assertKept();
    expect(report.counts.byMode).toMatchObject({ close: ENDS, disk: ENDS });
    expect(report.counts.missed).toBe(0);
  });
});

// Each schedule was a bug once.
describe("a process that closes its store", () => {
  it.for([
    ["main-loop", "close after store.beginWork 1"],
    ["accept-divergence", "crash before store.releaseRun 1"],
  ] as const)("harms nothing: %s, %s", async ([name, schedule]) => {
    const report = await explored(name, { schedule }, schedule);
    report.assertKept();
  });
});
