import assert from "node:assert/strict";
import { EVERYTHING } from "../../../core/access/scope.ts";
import { ConfigurationError } from "../../../core/errors.ts";
import { WEBHOOK_EVENTS } from "../../../core/webhook/webhook-events.ts";
import type { NewWebhook, Store } from "../../../store/store.ts";
import { type Check, check, rejection } from "../check.ts";
import { queuedRun } from "../runs/queue.ts";
import { CHARGE, FAILED, SampleRun, SUCCEEDED, sha256 } from "../sample-run.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const RECEIVED = { kind: "delivered", status: 200 } as const;
const ARGUMENTS = sha256("arguments").toString("hex");

export function newWebhook(webhookId: string, over: Partial<NewWebhook> = {}): NewWebhook {
  return {
    webhookId,
    url: "https://example.com/hooks",
    events: WEBHOOK_EVENTS,
    scope: EVERYTHING,
    content: false,
    secretCheck: "0123456789abcdef",
    createdBy: "Root 🌱",
    ...over,
  };
}

/** Records everything that there is to record, and returns how many transactions that took. */
export async function recordAll(store: Store): Promise<number> {
  for (let looks = 0; looks < 100; looks += 1) {
    if (!(await store.hasWebhookNews())) return looks;
    await store.recordDeliveries();
  }
  throw new Error("There is always something to record.");
}

/** The ids and events of what is recorded for a webhook, in the order of their ids. */
export async function recordedFor(store: Store, webhookId: string): Promise<readonly string[]> {
  await recordAll(store);
  const all = await store.listDeliveries(webhookId);
  return all.map(({ deliveryId, event }) => `${deliveryId} ${event}`).sort();
}

/** A turn that reserves what it is charged: 30 tokens. */
async function turnOf30(run: SampleRun, turnIndex: number): Promise<void> {
  await run.open(turnIndex, { reserve: CHARGE.amount });
  await run.store.commitTurn(run.fence, run.commit(turnIndex, { journal: run.journal(turnIndex) }));
}

export const webhookChecks: readonly Check[] = [
  check("a webhook is listed until it is removed, and the same id again changes nothing", async (scene) => {
    const { store, now, advance } = scene;
    const scope = { pipelines: ["report"], labels: { tenant: "acme" } };
    const added = await store.addWebhook(newWebhook("w-1", { scope, content: true, events: ["run.failed"] }));
    assert.deepEqual(added, {
      ...newWebhook("w-1", { scope, content: true, events: ["run.failed"] }),
      createdAt: now(),
      generation: 1,
      rotatedAt: null,
      disabledAt: null,
    });
    advance(1_000);
    assert.deepEqual(await store.addWebhook(newWebhook("w-1")), added);
    await store.addWebhook(newWebhook("w-2"));
    assert.deepEqual(await store.getWebhook("w-1"), added);
    assert.deepEqual(
      (await store.listWebhooks()).map(({ webhookId }) => webhookId),
      ["w-1", "w-2"],
    );
    await store.testWebhook("w-1", "test-1");
    assert.equal(await store.removeWebhook("w-1"), true);
    assert.equal(await store.removeWebhook("w-1"), false);
    assert.equal(await store.getWebhook("w-1"), null);
    assert.deepEqual(await store.listDeliveries("w-1"), []);
    assert.equal(await store.testWebhook("w-1", "test-2"), null);
  }),

  check("what is no webhook is refused", async ({ store }) => {
    const wrong: readonly unknown[] = [
      { url: "example.com" },
      { url: "ftp://example.com/" },
      { url: "http://example.com/" },
      { url: "https://ann:secret@example.com/" },
      { url: "http://169.254.169.254/" },
      { url: `https://example.com/${"a".repeat(2_000)}` },
      { events: [] },
      { events: ["run.started"] },
      { scope: { pipelines: [] } },
      { content: 1 },
      { createdBy: " " },
    ];
    for (const over of wrong) {
      const error = await rejection(store.addWebhook(newWebhook("w-1", over as Partial<NewWebhook>)));
      assert.ok(ConfigurationError.isInstance(error), JSON.stringify(over));
    }
    assert.deepEqual(await store.listWebhooks(), []);
    await store.addWebhook(newWebhook("w-1", { url: "http://localhost:9000/#part" }));
    assert.equal((await store.getWebhook("w-1"))?.url, "http://localhost:9000/");
  }),

  check("each event that asks for it is recorded once, with an id made of run and number", async (scene) => {
    const { store } = scene;
    await SampleRun.create(store, "before");
    await store.addWebhook(newWebhook("w-1"));
    assert.deepEqual(await recordedFor(store, "w-1"), [], "what was before is for nobody");
    const run = await SampleRun.create(store, "run-1");
    await run.journaled(1, ["prepared", "prepared"]);
    await run.waiting(run.approval(1, 1, ARGUMENTS), run.approval(1, 2, ARGUMENTS));
    const opened = await store.readProgress(["run-1"]).then((all) => all.get("run-1") ?? 0);
    await store.approve("run-1~1");
    await store.deny("run-1~2", "No.");
    const done = await SampleRun.create(store, "run-2");
    await store.releaseRun(done.fence, SUCCEEDED);
    const failed = await SampleRun.create(store, "run-3");
    await store.releaseRun(failed.fence, FAILED);
    await store.requestCancel("run-1");
    const seqOf = async (runId: string) => (await store.readProgress([runId])).get(runId) ?? 0;
    const expected = [
      `run-1:${opened} wait.opened`,
      `run-1:${opened}:2 wait.opened`,
      `run-1:${opened + 1} wait.answered`,
      `run-1:${opened + 2} wait.answered`,
      `run-1:${await seqOf("run-1")} run.cancelled`,
      `run-2:${await seqOf("run-2")} run.succeeded`,
      `run-3:${await seqOf("run-3")} run.failed`,
    ];
    assert.deepEqual(await recordedFor(store, "w-1"), expected.sort());
    const [failure] = (await store.listDeliveries("w-1")).filter(({ event }) => event === "run.failed");
    assert.deepEqual(failure?.facts, { pipeline: "report", status: "failed", code: "step_failed" });
    assert.equal(await recordAll(store), 0, "nothing is recorded twice");
  }),

  check("calls that a dead or stopped worker left are recorded, each by itself", async ({ store }) => {
    await store.addWebhook(newWebhook("w-1", { events: ["call.in_doubt"] }));
    const run = await SampleRun.create(store, "run-1");
    await run.journaled(1, ["running", "running"]);
    await store.interruptRun(run.fence);
    await recordAll(store);
    const recorded = await store.listDeliveries("w-1");
    assert.deepEqual(
      recorded.map(({ facts }) => JSON.stringify(facts.callId)).sort(),
      [run.callId(1, 1), run.callId(1, 2)].map((id) => JSON.stringify(id)).sort(),
    );
    const given = await SampleRun.create(store, "run-2");
    await given.journaled(1, ["running"]);
    await given.endAttempt(1, 1);
    await recordAll(store);
    const ids = (await store.listDeliveries("w-1")).map(({ facts }) => facts.callId);
    assert.ok(ids.includes(given.callId(1, 1)), "one that its worker gave up on");
  }),

  check("a webhook gets what it asked for, of the runs in its scope", async ({ store }) => {
    await store.addWebhook(newWebhook("ends", { events: ["run.succeeded"] }));
    await store.addWebhook(newWebhook("acme", { scope: { pipelines: null, labels: { tenant: "acme" } } }));
    for (const tenant of ["acme", "other"]) {
      const run = await SampleRun.create(store, tenant, { metadata: { tenant } });
      await store.releaseRun(run.fence, tenant === "acme" ? FAILED : SUCCEEDED);
    }
    const runsOf = async (webhookId: string) =>
      (await store.listDeliveries(webhookId)).map(({ runId, event }) => `${runId} ${event}`);
    await recordAll(store);
    assert.deepEqual(await runsOf("ends"), ["other run.succeeded"]);
    assert.deepEqual(await runsOf("acme"), ["acme run.failed"]);
  }),

  check(
    "the thresholds of a budget are recorded once each, and again once it was raised",
    async ({ store }) => {
      await store.addWebhook(newWebhook("w-1", { events: ["budget.threshold"] }));
      const run = await SampleRun.create(store, "run-1", { limit: { tokens: 100, microDollars: null } });
      const percents = async () => {
        await recordAll(store);
        const all = await store.listDeliveries("w-1");
        return all.map(({ facts }) => JSON.stringify([facts.limit, facts.percent])).sort();
      };
      await turnOf30(run, 1);
      assert.deepEqual(await percents(), [], "30 of 100");
      await turnOf30(run, 2);
      assert.deepEqual(await percents(), ["[100,50]"], "60 of 100");
      await turnOf30(run, 3);
      assert.deepEqual(await percents(), ["[100,50]", "[100,80]"], "90 of 100");
      await store.releaseRun(run.fence, FAILED);
      assert.deepEqual(await percents(), ["[100,50]", "[100,80]"]);
      await run.takenOver(store, { budgets: { maxTokens: 120 } });
      assert.deepEqual(await percents(), ["[100,50]", "[100,80]", "[120,50]"], "90 of 120");
    },
  ),

  check("a run that nobody works on is recorded after a minute, once", async (scene) => {
    const { store, advance, fallSilent } = scene;
    const old = await SampleRun.create(store, "old");
    await store.interruptRun(old.fence);
    advance(1);
    await store.addWebhook(newWebhook("w-1", { events: ["run.interrupted"] }));
    await SampleRun.create(store, "dead");
    const left = await SampleRun.create(store, "left");
    await store.interruptRun(left.fence);
    const recorded = async () => {
      await recordAll(store);
      return (await store.listDeliveries("w-1")).map(({ runId }) => String(runId)).sort();
    };
    advance(MINUTE_MS - 1);
    assert.deepEqual(await recorded(), []);
    advance(1);
    assert.deepEqual(await recorded(), ["left"], "the lease of the other ended later");
    await fallSilent(MINUTE_MS);
    assert.deepEqual(await recorded(), ["dead", "left"]);
    for (const { deliveryId, attempts: attempt } of await store.claimDeliveries("w-1", 9))
      await store.endDelivery({ webhookId: "w-1", deliveryId, attempt, outcome: RECEIVED });
    advance(40 * DAY_MS);
    await store.recordDeliveries();
    assert.deepEqual(await recorded(), ["dead", "left"], "as long as it stays so");
    const states = (await store.listDeliveries("w-1")).map(({ state }) => state);
    assert.deepEqual(states, ["delivered", "delivered"], "and it is not sent again");
  }),

  check("more runs that nobody works on than are recorded at once are recorded, too", async (scene) => {
    const { store, advance } = scene;
    const events = ["run.interrupted"] as const;
    await store.addWebhook(
      newWebhook("acme", { events, scope: { pipelines: null, labels: { tenant: "acme" } } }),
    );
    await store.addWebhook(newWebhook("all", { events }));
    for (let i = 0; i < 55; i += 1) {
      // In the order of ids, those of the scope are the last.
      const tenant = i < 53 ? "other" : "acme";
      const { fence } = await SampleRun.create(store, `run-${i + 100}`, { metadata: { tenant } });
      await store.interruptRun(fence);
    }
    advance(MINUTE_MS);
    assert.equal((await store.recordDeliveries()).isDone, false);
    assert.deepEqual(
      (await store.listDeliveries("acme")).map(({ runId }) => String(runId)).sort(),
      ["run-153", "run-154"],
      "those of others do not keep them waiting",
    );
    assert.equal((await recordedFor(store, "all")).length, 55);
    assert.equal((await store.listDeliveries("acme")).length, 2);
  }),

  check("a place in the log that is lost with its run is followed by the one before it", async (scene) => {
    const { store } = scene;
    await SampleRun.create(store, "before");
    await store.addWebhook(newWebhook("w-1", { events: ["run.succeeded"] }));
    const succeed = async (runId: string) => {
      const { fence } = await SampleRun.create(store, runId);
      await store.releaseRun(fence, SUCCEEDED);
    };
    for (const runId of ["run-1", "run-2", "run-3"]) {
      await succeed(runId);
      await recordAll(store);
    }
    // The last events that were read are gone, and on SQLite their numbers are given again.
    for (const runId of ["run-3", "run-2"]) await store.deleteRun(runId, { why: "test" });
    await succeed("run-4");
    assert.equal(await recordAll(store), 1, "in one transaction");
    const after = await recordedFor(store, "w-1");
    assert.equal(after.length, 4, "what was recorded is not recorded again");
    assert.ok(after.some((each) => each.startsWith("run-4:")));
  }),

  check("without any place in the log nothing is lost but time", async ({ store, advance }) => {
    const last = await SampleRun.create(store, "before");
    await store.releaseRun(last.fence, SUCCEEDED);
    advance(1);
    await store.addWebhook(newWebhook("w-1", { events: ["run.succeeded"] }));
    const next = await SampleRun.create(store, "run-1");
    await store.releaseRun(next.fence, SUCCEEDED);
    // More runs before it than are looked at in one transaction.
    for (let i = 0; i < 60; i += 1) await store.enqueueRun(queuedRun(`earlier-${i}`));
    await store.deleteRun("before", { why: "test" });
    const found = await recordedFor(store, "w-1");
    assert.equal(found.length, 1);
    assert.ok(found.every((each) => each.startsWith("run-1:")));
  }),
];
