// Creates a run and holds it, renewing its lease, until it is killed.

import { openStore } from "../../../../src/store/open-store.ts";
import { SampleRun } from "../../../../src/testing/store/sample-run.ts";

const [url = "", schema = "", runId = "", leaseMs = "30000"] = process.argv.slice(2);
const store = await openStore(url, { schema });
const run = await SampleRun.create(store, runId, { leaseMs: Number(leaseMs) });
setInterval(() => void store.renewLease(run.fence, Number(leaseMs)), 200);
process.stdout.write("held\n");
