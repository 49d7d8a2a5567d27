// The entry point of a mutant's bundle. It includes everything, so that the planted bug is the code that runs.

import { SCENARIOS as SHARED } from "../scenarios/index.ts";
import { OWN_SCENARIOS } from "./scenarios.ts";

export { defineAgent } from "../../../../src/engine/definition/agent.ts";
export { tool } from "../../../../src/engine/definition/tool.ts";
export { Runner } from "../../../../src/engine/runner/runner.ts";
export { SqliteStore } from "../../../../src/store/sqlite/sqlite-store.ts";
export { crashExplorer } from "../../../../src/testing/crash/crash-explorer.ts";
export { INVARIANTS } from "../../../../src/testing/crash/invariants/index.ts";
export { scheduleText } from "../../../../src/testing/crash/schedule.ts";

export const SCENARIOS = { ...SHARED, ...OWN_SCENARIOS };
