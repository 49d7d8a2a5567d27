import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { openStore, type Store } from "../../../src/index.ts";
import { webhookNews } from "../../../src/store/sql/webhooks/webhook-news.ts";
import { commitOrder } from "../../../src/store/sqlite/commit-order.ts";
import { Database } from "../../../src/store/sqlite/database.ts";
import { SampleRun, SUCCEEDED, sha256 } from "../../../src/testing/store/sample-run.ts";
import { newWebhook } from "../../../src/testing/store/server/webhooks.ts";
import { tempFolder } from "./temp-folder.ts";

async function world(): Promise<{ readonly store: Store; readonly database: Database }> {
  const file = join(tempFolder(), "pawl.db");
  const store = await openStore(`file:${file}`);
  onTestFinished(() => store.close({ graceMs: 0 }));
  const database = Database.open(file);
  onTestFinished(() => database.close());
  return { store, database };
}

/** Events of a run that a webhook asks for, many of them. */
function addEvents(database: Database, runId: string, count: number): void {
  database.run(
    `WITH RECURSIVE numbers (n) AS (SELECT 1001 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1000 + ?)
     INSERT INTO events (run_key, seq, created_at, type, data, hash, of_run)
       SELECT run_key, n, updated_at, 'run.succeeded', '{}', randomblob(32), 0 FROM runs, numbers WHERE run_id = ?`,
    count,
    runId,
  );
}

it("looks again at runs with any number of events in limited pages, and lets new events pass", async () => {
  const { store, database } = await world();
  await store.addWebhook(newWebhook("w-1", { events: ["run.succeeded"] }));
  await SampleRun.create(store, "many");
  addEvents(database, "many", 1_200);
  database.run("UPDATE webhook_feed SET places = '[]'");
  await store.recordDeliveries();
  const { fence } = await SampleRun.create(store, "new");
  await store.releaseRun(fence, SUCCEEDED);
  const recorded = () =>
    database.all("SELECT run_id FROM webhook_deliveries").map((row) => row.text("run_id"));
  expect(recorded()).toEqual([]);
  await store.recordDeliveries();
  expect(recorded().filter((runId) => runId === "new")).toHaveLength(1);
  expect(recorded().filter((runId) => runId === "many").length).toBeLessThanOrEqual(500);
  for (let pages = 0; pages < 5; pages += 1) await store.recordDeliveries();
  expect(await store.hasWebhookNews()).toBe(false);
  expect(recorded().filter((runId) => runId === "many")).toHaveLength(1_200);
});

it("asks a few questions for a page, however many waits it names", async () => {
  const { store, database } = await world();
  await store.addWebhook(newWebhook("w-1"));
  for (let i = 0; i < 20; i += 1) {
    const run = await SampleRun.create(store, `run-${i}`);
    await run.journaled(1, ["prepared"]);
    await run.waiting(run.approval(1, 1, sha256("arguments").toString("hex")));
  }
  const script = webhookNews(commitOrder, Date.now());
  let questions = 0;
  let step = script.next();
  for (; step.done !== true; questions += 1)
    step = script.next(database.all(step.value.text, ...step.value.values));
  expect(step.value.deliveries).toHaveLength(20);
  expect(questions).toBeLessThan(10);
});
