// The entry point of a mutant's bundle. It includes everything, so that the planted bug is the code that runs.

import { SCENARIOS as SHARED } from "../scenarios/index.ts";
import { OWN_SCENARIOS } from "./scenarios.ts";

export { defineAgent } from "../../../../src/engine/definition/agent.ts";
export { tool } from "../../../../src/engine/definition/tool.ts";
export { Runner } from "../../../../src/engine/runner/runner.ts";
export { PostgresStore } from "../../../../src/store/postgres/postgres-store.ts";
export { statementsOf } from "../../../../src/store/postgres/write-statements.ts";
export { loadPg } from "../../../../src/store/postgres-wire/pg-driver.ts";
export { RoundTrip } from "../../../../src/store/postgres-wire/round-trip.ts";
export { renewLease } from "../../../../src/store/sql/intents/run-intents.ts";
export { beginStep } from "../../../../src/store/sql/intents/step-intents.ts";
export { Database } from "../../../../src/store/sqlite/database.ts";
export { SqliteStore } from "../../../../src/store/sqlite/sqlite-store.ts";
export { writeRow } from "../../../../src/store/sqlite/write-statements.ts";
export { crashExplorer } from "../../../../src/testing/crash/crash-explorer.ts";
export { postgresWorlds } from "../../../../src/testing/crash/databases/postgres-worlds.ts";
export { INVARIANTS } from "../../../../src/testing/crash/invariants/index.ts";
export { scheduleText } from "../../../../src/testing/crash/schedule.ts";

export const SCENARIOS = { ...SHARED, ...OWN_SCENARIOS };
