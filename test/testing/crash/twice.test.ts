// A second crash in the process that recovers from the first.

import { describe, expect, it } from "vitest";
import { PATIENCE } from "../../patience.ts";
import { explored } from "./explored-scenario.ts";
import { EXPLORED_NAMES } from "./scenarios/index.ts";

const NAMES = EXPLORED_NAMES;

/** The number of pairs of each scenario; `npm run explore -- --modes twice --pairs all` takes every pair. */
const PAIRS = 1;
const ALL = PAIRS * NAMES.length;

const explore = (name: string) => explored(name, { modes: ["twice"], pairs: PAIRS, seed: 20_260 });

describe("a process that dies while it recovers", () => {
  it.for(NAMES)("from a crash in %s leaves a run that keeps every promise", PATIENCE, async (name) => {
    const report = await explore(name);
    report.assertKept();
    expect(report.counts).toMatchObject({ missed: 0, byMode: { twice: PAIRS } });
  });

  it("does so in every scenario", PATIENCE, async () => {
    const reports = await Promise.all(NAMES.map(explore));
    const pairs = reports.reduce((sum, { counts }) => sum + (counts.byMode.twice ?? 0), 0);
    expect(pairs).toBeGreaterThanOrEqual(ALL);
  });
});
