// A process that is stopped for longer than its lease, and wakes while another one works on the run or after it has ended.

import { describe, expect, it } from "vitest";
import { type CrashExplorerOptions, crashExplorer } from "../../../src/testing/crash/index.ts";
import { PATIENCE } from "../../patience.ts";
import { EXPLORER_FOLDER, explored, sumOf } from "./explored-scenario.ts";
import { EXPLORED_NAMES, SCENARIOS } from "./scenarios/index.ts";

/** The number of points of each scenario, twice each; `npm run explore -- --modes pause` takes all of them. */
const PAUSES = 1;

describe("a process that wakes after another has taken its run", () => {
  it.for(EXPLORED_NAMES)("in %s harms nothing", PATIENCE, async (name) => {
    const report = await explored(name, { modes: ["pause"], pauses: PAUSES, wakes: 1, seed: 20_260 });
    report.assertKept();
    expect(report.counts.byMode.pause).toBeGreaterThan(PAUSES);
    expect(report.counts.missed).toBe(0);
  });
});

it("tests that silence is no proof", PATIENCE, async () => {
  const reports = await Promise.all(
    EXPLORED_NAMES.map((name) =>
      explored(name, { modes: ["pause"], pauses: PAUSES, wakes: 1, seed: 20_260 }),
    ),
  );
  expect(sumOf(reports.map(({ counts }) => counts.looked))["silence-is-no-proof"]).toBeGreaterThan(5);
});

// Each schedule was a bug once: the process that woke knew nothing of the open exchange, and read its mailbox for ever.
describe("a process that wakes while another one answers the next text", () => {
  it.for([
    ["conversation-queue", "pause after store.commitTurn 2; wake after store.openTurn 2"],
    ["conversation-two-senders", "pause after store.commitTurn 3; wake after store.openTurn 2"],
  ] as const)("ends: %s, %s", PATIENCE, async ([name, schedule]) => {
    const report = await explored(name, { schedule }, schedule);
    report.assertKept();
    expect(report.counts.missed).toBe(0);
  });
});

// The late receipt of the process that woke settles the call in doubt while the other process is about to wait for it.
describe("a run whose wait is settled before it was opened", () => {
  it.for([
    ["parallel-mixed", "pause before tool.charge 2; wake after store.startToolCalls 2"],
    ["parallel-mixed", "pause before tool.call_taxi 2; wake before store.startToolCalls 1"],
    ["retries", "pause before tool.call_taxi 3; wake before store.beginStep 1"],
    ["late-receipt", "pause after store.endToolCallAttempt 1; wake after store.endToolCallAttempt 1"],
  ] as const)("continues, and is not left queued: %s, %s", async ([name, schedule]) => {
    const report = await crashExplorer({
      ...SCENARIOS[name]?.(),
      ...EXPLORER_FOLDER,
      schedule,
    } as CrashExplorerOptions);
    report.assertKept();
  });
});
