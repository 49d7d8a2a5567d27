// A worker in a process of its own, which tests kill. Prints a line once it takes runs.

import { Worker } from "../../../../src/index.ts";
import { openTestStore } from "../../dashboard/test-database.ts";
import { walker } from "../walker.ts";

const { STORE = "", LEASE_MS = "" } = process.env;

const store = await openTestStore(STORE);
const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());
const worker = new Worker({ store, pipelines: { walker }, leaseMs: Number(LEASE_MS) });
console.log("ready");
await worker.run(stop.signal);
await store.close();
