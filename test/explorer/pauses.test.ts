// A process that is stopped for longer than its lease, and wakes while another one has the run or has ended it.

import { describe, expect, it } from "vitest";
import { PATIENCE } from "../patience.ts";
import { explored } from "./laboratory.ts";
import { SCENARIOS } from "./scenarios/index.ts";

/** At so many points of each scenario, twice each; `npm run explore -- --modes pause` does so at all of them. */
const PAUSES = 8;

describe("a process that wakes after another has taken its run", () => {
  it.for(Object.keys(SCENARIOS))("in %s harms nothing", PATIENCE, async (name) => {
    const report = await explored(name, { modes: ["pause"], pauses: PAUSES, wakes: 1, seed: 20_260 });
    report.assertKept();
    expect(report.counts.byMode.pause).toBeGreaterThan(PAUSES);
  });
});
