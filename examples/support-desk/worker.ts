/**
 * A worker of the desk. Start as many as you like: each run has one of them at a time, and one that is killed loses nothing.
 *
 *   DATABASE=file:desk.db PAYMENTS=http://127.0.0.1:9000 node examples/support-desk/worker.ts
 */
import { openStore, Worker } from "../../src/index.ts";
import { refundPipeline, reportPipeline } from "./desk.ts";

const { DATABASE = "file:desk.db", PAYMENTS = "http://127.0.0.1:9000" } = process.env;
const store = await openStore(DATABASE);

// The first signal hands the runs back to other workers; a second one kills.
const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());

const worker = new Worker({
  store,
  pipelines: { refund: refundPipeline(PAYMENTS), report: reportPipeline(store) },
  concurrency: 8,
  limits: { perKey: 1 }, // one refund at a time for each customer
  // Each planned time starts one run, whichever worker sees it. Raise the revision when you change a schedule.
  schedules: { nightly: { pipeline: "report", cron: "0 2 * * *", timeZone: "Europe/Berlin", input: null } },
  scheduleRevision: 1,
  onNotice: (notice) => {
    if (notice.type === "claimed") console.log(`${process.pid} takes ${notice.runId}`);
    if (notice.type === "store_failed" || notice.type === "unfit") console.error(notice);
    if (notice.type === "left" && notice.error !== null) console.error(notice);
  },
});

console.log("ready");
await worker.run(stop.signal);
await store.close();
