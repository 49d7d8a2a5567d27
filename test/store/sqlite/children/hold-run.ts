// Creates a run and holds it until this process is killed, or asked to close. Asked to read, it reads every file
// beside it.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { openStore } from "../../../../src/store/open-store.ts";
import { SampleRun } from "../../../../src/testing/store/sample-run.ts";

const [file, runId, leaseMs] = process.argv.slice(2);
const store = await openStore(`file:${file}`);
const run = await SampleRun.create(store, runId, { leaseMs: Number(leaseMs) });
await run.open(1);
console.log((await run.record()).owner);
for await (const line of createInterface({ input: process.stdin })) {
  if (line !== "read") break;
  const folder = dirname(file ?? "");
  const read = readdirSync(folder).flatMap((name) => {
    try {
      return readFileSync(join(folder, name));
    } catch {
      return []; // A socket cannot be read.
    }
  });
  console.log(`read ${read.length}`);
}
await store.close();
console.log("closed");
process.exit(0);
