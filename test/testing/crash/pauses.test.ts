// A process that is stopped for longer than its lease, and wakes while another one has the run or has ended it.

import { describe, expect, it } from "vitest";
import { type CrashExplorerOptions, crashExplorer } from "../../../src/testing/index.ts";
import { PATIENCE } from "../../patience.ts";
import { explored, LABORATORY, sumOf } from "./laboratory.ts";
import { SCENARIOS } from "./scenarios/index.ts";

/** At so many points of each scenario, twice each; `npm run explore -- --modes pause` does so at all of them. */
const PAUSES = 3;

describe("a process that wakes after another has taken its run", () => {
  it.for(Object.keys(SCENARIOS))("in %s harms nothing", PATIENCE, async (name) => {
    const report = await explored(name, { modes: ["pause"], pauses: PAUSES, wakes: 1, seed: 20_260 });
    report.assertKept();
    expect(report.counts.byMode.pause).toBeGreaterThan(PAUSES);
    expect(report.counts.missed).toBe(0);
  });
});

it("puts it to the test that silence is no proof", PATIENCE, async () => {
  const reports = await Promise.all(
    Object.keys(SCENARIOS).map((name) =>
      explored(name, { modes: ["pause"], pauses: PAUSES, wakes: 1, seed: 20_260 }),
    ),
  );
  expect(sumOf(reports.map(({ counts }) => counts.looked))["silence-is-no-proof"]).toBeGreaterThan(5);
});

// The receipt of the one that woke settles the only question of the other while that is on its way out to ask it.
describe("a run whose question is answered before it was asked", () => {
  it.for([
    ["parallel-mixed", "pause before tool.charge 2; wake after store.startToolCalls 2"],
    ["parallel-mixed", "pause before tool.call_taxi 2; wake before store.startToolCalls 1"],
    ["retries", "pause before tool.call_taxi 3; wake before store.beginStep 1"],
    ["late-receipt", "pause after store.endToolCallAttempt 1; wake after store.endToolCallAttempt 1"],
  ] as const)("is gone on with, and not left queued: %s, %s", async ([name, schedule]) => {
    const report = await crashExplorer({
      ...SCENARIOS[name]?.(),
      ...LABORATORY,
      schedule,
    } as CrashExplorerOptions);
    report.assertKept();
  });
});
