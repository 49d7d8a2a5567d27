// Creates a run and holds it until this process is killed, or told to close.
import { once } from "node:events";
import { openStore } from "../../../../src/store/open-store.ts";
import { SampleRun } from "../../../../src/testing/store-conformance/sample-run.ts";

const [file, runId, leaseMs] = process.argv.slice(2);
const store = await openStore(`file:${file}`);
const run = await SampleRun.create(store, runId, { leaseMs: Number(leaseMs) });
await run.open(1);
console.log((await run.record()).owner);
await once(process.stdin, "data");
await store.close();
console.log("closed");
process.exit(0);
