// A worker in a process of its own: its runs have one keyed effect a step. It says what it claims, one line each.

import { setTimeout as sleep } from "node:timers/promises";
import { openStore, Worker } from "../../../src/index.ts";
import { effectPipeline } from "../effect-pipeline.ts";
import type { QueueWorkerLine, QueueWorkerOrder } from "../queue-worker.ts";

const order = JSON.parse(process.argv[2] ?? "") as QueueWorkerOrder;

function say(line: QueueWorkerLine): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

const store = await openStore(order.url, order.schema === null ? {} : { schema: order.schema });
const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());
const pipeline = effectPipeline(async (runId, step, key) => {
  say({ is: "begun", runId, step, at: Date.now() });
  await sleep(order.toolMs);
  const headers = { "idempotency-key": key };
  const answer = await fetch(`${order.effects}/effects`, {
    method: "POST",
    headers,
    body: `${runId} ${step}`,
  });
  const text = await answer.text();
  say({ is: "ended", runId, step, at: Date.now() });
  return text;
});
const worker = new Worker({
  store,
  pipelines: { effects: pipeline },
  concurrency: order.concurrency,
  leaseMs: order.leaseMs,
  limits: order.perKey === null ? {} : { perKey: order.perKey },
  onNotice: (notice) => {
    if (notice.type === "claimed")
      say({ is: "claimed", runId: notice.runId, isTakeover: notice.afterMs === null, at: Date.now() });
  },
});
say({ is: "ready" });
await worker.run(stop.signal);
await store.close();
