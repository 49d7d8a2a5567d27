/**
 * A worker of the desk. Start as many as you like: each run has one of them at a time, and one that is killed loses nothing.
 *
 *   DATABASE=file:desk.db PAYMENTS=http://127.0.0.1:9000 node examples/support-desk/worker.ts
 */
import { openStore, Runner, Worker } from "../../src/index.ts";
import { refundPipeline, reportPipeline } from "./desk.ts";

const { DATABASE = "file:desk.db", PAYMENTS = "http://127.0.0.1:9000" } = process.env;
const store = await openStore(DATABASE);

// The first signal hands the runs back to other workers; a second one kills.
const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());

const report = reportPipeline(store);
const worker = new Worker({
  store,
  pipelines: { refund: refundPipeline(PAYMENTS), report },
  concurrency: 8,
  limits: { perKey: 1 }, // one refund at a time for each customer
  onNotice: (notice) => {
    if (notice.type === "claimed") console.log(`${process.pid} takes ${notice.runId}`);
    if (notice.type === "store_failed" || notice.type === "unfit") console.error(notice);
    if (notice.type === "left" && notice.error !== null) console.error(notice);
  },
});

// SCHEDULES: where `Worker` takes `schedules`, the report belongs there. Until then each worker that starts enqueues the
// next one; the key is the night, so that it is one run, whichever worker is first.
const night = new Date();
night.setUTCHours(24, 0, 0, 0);
await new Runner(report, { store }).enqueue(null, { key: night.toISOString(), notBefore: night });

console.log("ready");
await worker.run(stop.signal);
await store.close();
