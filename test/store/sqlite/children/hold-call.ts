// Creates a run with a running call of a turn and one of code, and holds it until this process is killed.
import { once } from "node:events";
import { openStore } from "../../../../src/store/open-store.ts";
import { SampleRun } from "../../../../src/testing/store/sample-run.ts";

const [file, runId, leaseMs] = process.argv.slice(2);
const store = await openStore(`file:${file}`);
const run = await SampleRun.create(store, runId, { leaseMs: Number(leaseMs) });
await run.journaled(1, ["running", "running"]);
await run.endAttempt(1, 2, { inDoubt: false });
await store.openToolCall(run.fence, run.codeCall(1));
console.log("held");
await once(process.stdin, "data");
