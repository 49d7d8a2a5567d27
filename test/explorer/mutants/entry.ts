// What a mutant is bundled from: all of it is of one piece, so that the bug that was planted is the one that is run.

import { SCENARIOS as SHARED } from "../scenarios/index.ts";
import { OWN_SCENARIOS } from "./scenarios.ts";

export { defineAgent } from "../../../src/engine/agent.ts";
export { Runner } from "../../../src/engine/runner.ts";
export { tool } from "../../../src/engine/tool.ts";
export { SqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
export { crashExplorer } from "../../../src/testing/explorer/crash-explorer.ts";
export { INVARIANTS } from "../../../src/testing/explorer/invariants/index.ts";
export { scheduleText } from "../../../src/testing/explorer/schedule.ts";

export const SCENARIOS = { ...SHARED, ...OWN_SCENARIOS };
