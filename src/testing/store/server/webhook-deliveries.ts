import assert from "node:assert/strict";
import type { Store, WebhookDelivery } from "../../../store/store.ts";
import { type Check, check, checkSeveral } from "../check.ts";
import { SampleRun, SUCCEEDED } from "../sample-run.ts";
import { newWebhook, recordAll, recordedFor } from "./webhooks.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

async function claimOne(store: Store, webhookId: string): Promise<WebhookDelivery> {
  const [claimed, ...others] = await store.claimDeliveries(webhookId, 1);
  assert.deepEqual(others, []);
  assert.ok(claimed !== undefined, "something is due");
  return claimed;
}

/** A webhook with one delivery that is due. */
async function withDelivery(store: Store): Promise<void> {
  await store.addWebhook(newWebhook("w-1"));
  await store.testWebhook("w-1", "test-1");
}

export const webhookDeliveryChecks: readonly Check[] = [
  check("a delivery is claimed by one, ends once it was received, and is listed", async (scene) => {
    const { store, now, advance } = scene;
    await withDelivery(store);
    assert.deepEqual(await store.listDueWebhooks(), ["w-1"]);
    const claimed = await claimOne(store, "w-1");
    assert.equal(claimed.attempts, 1);
    assert.deepEqual(await store.claimDeliveries("w-1", 9), [], "it is being sent");
    assert.deepEqual(await store.listDueWebhooks(), []);
    advance(10);
    const outcome = { kind: "delivered", status: 204 } as const;
    await store.endDelivery({ webhookId: "w-1", deliveryId: "test-1", attempt: 1, outcome });
    const [listed] = await store.listDeliveries("w-1");
    assert.deepEqual(listed, {
      ...claimed,
      state: "delivered",
      nextAt: null,
      lastAt: now() - 10,
      lastStatus: 204,
    });
    advance(DAY_MS);
    assert.deepEqual(await store.claimDeliveries("w-1", 9), []);
  }),

  check("what a dead sender had claimed is sent again after a minute", async ({ store, advance }) => {
    await withDelivery(store);
    await claimOne(store, "w-1");
    advance(MINUTE_MS - 1);
    assert.deepEqual(await store.claimDeliveries("w-1", 9), []);
    advance(1);
    assert.equal((await claimOne(store, "w-1")).attempts, 2);
    const late = { webhookId: "w-1", deliveryId: "test-1", attempt: 1 };
    const failed = { kind: "failed", status: null, error: "reset", retryInMs: null } as const;
    await store.endDelivery({ ...late, outcome: failed });
    assert.equal((await store.listDeliveries("w-1"))[0]?.state, "pending", "the second attempt is under way");
    await store.endDelivery({ ...late, outcome: { kind: "delivered", status: 200 } });
    assert.equal((await store.listDeliveries("w-1"))[0]?.state, "delivered", "it was received after all");
  }),

  check(
    "a delivery that failed is tried again, until it is given up, and when a person wants",
    async (scene) => {
      const { store, now, advance } = scene;
      await withDelivery(store);
      const place = { webhookId: "w-1", deliveryId: "test-1" };
      const failed = { kind: "failed", status: 500, error: "It answered 500." } as const;
      await claimOne(store, "w-1");
      await store.endDelivery({ ...place, attempt: 1, outcome: { ...failed, retryInMs: 5_000 } });
      advance(4_999);
      assert.deepEqual(await store.claimDeliveries("w-1", 9), []);
      advance(1);
      await claimOne(store, "w-1");
      await store.endDelivery({ ...place, attempt: 2, outcome: { ...failed, retryInMs: null } });
      const [given] = await store.listDeliveries("w-1");
      assert.deepEqual([given?.state, given?.nextAt, given?.lastError], ["failed", null, "It answered 500."]);
      const again = await store.sendAgain("w-1", "test-1");
      assert.deepEqual([again?.state, again?.nextAt], ["pending", now()]);
      assert.deepEqual([again?.attempts, again?.tries], [2, 0], "an attempt keeps its number");
      const claimed = await claimOne(store, "w-1");
      assert.deepEqual([claimed.attempts, claimed.tries], [3, 1]);
      await store.endDelivery({ ...place, attempt: 1, outcome: { ...failed, retryInMs: null } });
      assert.equal(
        (await store.listDeliveries("w-1"))[0]?.state,
        "pending",
        "the first attempt is long over",
      );
      assert.equal(await store.sendAgain("w-1", "none"), null);
    },
  ),

  check("nothing more is recorded for a receiver that is gone, or sent to it", async ({ store, now }) => {
    await withDelivery(store);
    await store.testWebhook("w-1", "test-2");
    await store.claimDeliveries("w-1", 1);
    const outcome = { kind: "gone", status: 410 } as const;
    await store.endDelivery({ webhookId: "w-1", deliveryId: "test-1", attempt: 1, outcome });
    assert.equal((await store.getWebhook("w-1"))?.disabledAt, now());
    assert.deepEqual(await store.listDueWebhooks(), []);
    assert.deepEqual(await store.claimDeliveries("w-1", 9), []);
    assert.equal(await store.sendAgain("w-1", "test-1"), null);
    assert.equal(await store.testWebhook("w-1", "test-3"), null);
    const { fence } = await SampleRun.create(store, "run-1");
    await store.releaseRun(fence, SUCCEEDED);
    assert.equal((await recordedFor(store, "w-1")).length, 2);
    await store.addWebhook(newWebhook("w-2"));
    assert.deepEqual(await recordedFor(store, "w-2"), [], "the next one begins with the present");
  }),

  check("a secret is replaced by a higher generation only", async ({ store, now, advance }) => {
    await store.addWebhook(newWebhook("w-1"));
    advance(1_000);
    const next = { generation: 2, secretCheck: "fedcba9876543210" };
    const rotated = await store.rotateWebhook("w-1", next);
    assert.deepEqual(
      [rotated?.generation, rotated?.secretCheck, rotated?.rotatedAt],
      [2, next.secretCheck, now()],
    );
    advance(1_000);
    assert.deepEqual(await store.rotateWebhook("w-1", next), rotated);
    assert.equal(await store.rotateWebhook("none", next), null);
  }),

  check("deliveries that are over are removed in the end", async ({ store, advance }) => {
    await withDelivery(store);
    await claimOne(store, "w-1");
    const outcome = { kind: "delivered", status: 200 } as const;
    await store.endDelivery({ webhookId: "w-1", deliveryId: "test-1", attempt: 1, outcome });
    await store.testWebhook("w-1", "test-2");
    advance(34 * DAY_MS);
    await store.recordDeliveries();
    assert.equal((await store.listDeliveries("w-1")).length, 2);
    advance(2 * DAY_MS);
    await store.recordDeliveries();
    const left = (await store.listDeliveries("w-1")).map(({ deliveryId }) => deliveryId);
    assert.deepEqual(left, ["test-2"], "what was not received stays");
  }),

  check(
    "deliveries of a receiver that is gone are removed, too, and also those that were not sent",
    async (scene) => {
      const { store, advance } = scene;
      await withDelivery(store);
      await store.testWebhook("w-1", "test-2");
      const { deliveryId } = await claimOne(store, "w-1");
      const outcome = { kind: "gone", status: 410 } as const;
      await store.endDelivery({ webhookId: "w-1", deliveryId, attempt: 1, outcome });
      advance(34 * DAY_MS);
      assert.equal((await recordedFor(store, "w-1")).length, 2);
      advance(2 * DAY_MS);
      assert.deepEqual(await recordedFor(store, "w-1"), []);
    },
  ),

  checkSeveral("two servers record each event once, and one of them sends it", async (scene) => {
    const { store, openAnother } = scene;
    const other = await openAnother();
    await store.addWebhook(newWebhook("w-1", { events: ["run.succeeded"] }));
    for (const runId of ["run-1", "run-2", "run-3"]) {
      const { fence } = await SampleRun.create(store, runId);
      await store.releaseRun(fence, SUCCEEDED);
    }
    await Promise.all([recordAll(store), recordAll(other)]);
    assert.equal((await store.listDeliveries("w-1")).length, 3);
    const claims = await Promise.all([store, other].map((each) => each.claimDeliveries("w-1", 2)));
    const ids = claims.flat().map(({ deliveryId }) => deliveryId);
    assert.equal(ids.length, 3);
    assert.equal(new Set(ids).size, 3);
  }),
];
