// A worker of one queue in a process of its own, which a test kills, or which dies at a crash point. Prints a line once it is
// there.

import { Worker } from "../../../../src/index.ts";
import { type CrashPoint, crashAt } from "../../../../src/testing/index.ts";
import { clerk, POLICY } from "../clerk.ts";
import { openTestStore } from "../test-database.ts";

const { STORE = "", WITNESS = "", WORKSPACES = "", QUEUE = "", CRASH_AT = "", CRASH_TURN = "" } = process.env;

const worker = new Worker({
  store: await openTestStore(STORE),
  pipelines: { clerk: clerk({ witness: WITNESS }) },
  policy: POLICY,
  workspaceRoot: WORKSPACES,
  queues: [QUEUE],
  leaseMs: 1_000,
  ...(CRASH_AT === "" ? {} : { probe: crashAt(CRASH_AT as CrashPoint, { turn: Number(CRASH_TURN) }) }),
});
console.log("ready");
await worker.run();
