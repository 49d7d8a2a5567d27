import type { Store, WebhookStore } from "../../../src/store/store.ts";
import { SampleRun, SUCCEEDED } from "../../../src/testing/store/sample-run.ts";
import { newWebhook } from "../../../src/testing/store/server/webhooks.ts";

/** Prepares an intent around webhooks, and returns it. */
type PrepareWebhook = (store: Store, name: string) => Promise<() => Promise<unknown>>;

/** A webhook of this name. Those of other cases are removed: they would hear of the runs of this one. */
async function alone(store: Store, name: string): Promise<void> {
  for (const { webhookId } of await store.listWebhooks()) await store.removeWebhook(webhookId);
  await store.addWebhook(newWebhook(name));
}

async function withTest(store: Store, name: string): Promise<void> {
  await alone(store, name);
  await store.testWebhook(name, "test");
}

export const WEBHOOK_CASES: Readonly<Record<keyof WebhookStore, PrepareWebhook>> = {
  addWebhook: (store, name) => Promise.resolve(() => store.addWebhook(newWebhook(name))),
  removeWebhook: async (store, name) => {
    await withTest(store, name);
    // Whether it was there is not known of a commit whose answer was lost.
    return async () => void (await store.removeWebhook(name));
  },
  rotateWebhook: async (store, name) => {
    await alone(store, name);
    return () => store.rotateWebhook(name, { generation: 2, secretCheck: "check" });
  },
  testWebhook: async (store, name) => {
    await alone(store, name);
    return () => store.testWebhook(name, "test");
  },
  sendAgain: async (store, name) => {
    await withTest(store, name);
    return () => store.sendAgain(name, "test");
  },
  recordDeliveries: async (store, name) => {
    await alone(store, name);
    const { fence } = await SampleRun.create(store, name);
    await store.releaseRun(fence, SUCCEEDED);
    // How many were recorded is not known either: those of a lost commit are there.
    return async () => void (await store.recordDeliveries());
  },
  claimDeliveries: async (store, name) => {
    await withTest(store, name);
    // After a lost commit they are taken for those of a dead sender: they come again in a minute.
    return async () => void (await store.claimDeliveries(name, 9));
  },
  endDelivery: async (store, name) => {
    await withTest(store, name);
    await store.claimDeliveries(name, 1);
    const outcome = { kind: "failed", status: 500, error: "500", retryInMs: 5_000 } as const;
    return () => store.endDelivery({ webhookId: name, deliveryId: "test", attempt: 1, outcome });
  },
};
