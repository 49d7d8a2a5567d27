// Opens the store on a signal, so that several processes do it at the same moment, and creates a run in it.
import { once } from "node:events";
import { openStore } from "../../../../src/store/open-store.ts";
import { newRun } from "../../../../src/testing/store/sample-run.ts";

const [file, runId = ""] = process.argv.slice(2);
console.log("ready");
await once(process.stdin, "data");
const store = await openStore(`file:${file}`);
const { kind } = await store.createRun(newRun(runId));
await store.close();
console.log(kind);
process.exit(0);
