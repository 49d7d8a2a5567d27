/**
 * A worker: it asks the model, calls the tools, and commits each turn. Start as many as you like, on any machine that reaches
 * the store. One that is killed loses nothing but the half of an answer, and another one asks for it again.
 */
import { openStore, Worker } from "../../src/index.ts";
import { clerk } from "./agent.ts";

const { PAWL_STORE = "file:./.pawl/chat.db" } = process.env;
const store = await openStore(PAWL_STORE);

// The first signal hands the runs back to other workers; a second one kills.
const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());

const worker = new Worker({
  store,
  pipelines: { clerk },
  onNotice: (notice) => {
    if (notice.type === "store_failed" || notice.type === "unfit") console.error(notice);
    if (notice.type === "left" && notice.error !== null) console.error(notice);
  },
});

console.log("ready");
await worker.run(stop.signal);
await store.close();
