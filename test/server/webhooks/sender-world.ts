// A store with a webhook to a receiver of the test, and senders that a test lets look.

import { EVERYTHING } from "../../../src/core/access/scope.ts";
import { WEBHOOK_EVENTS } from "../../../src/core/webhook/webhook-events.ts";
import { secretCheck } from "../../../src/core/webhook/webhook-signature.ts";
import type { Store } from "../../../src/index.ts";
import { webhookFetch } from "../../../src/server/webhooks/webhook-request.ts";
import { secretOf } from "../../../src/server/webhooks/webhook-secret.ts";
import { WebhookSender } from "../../../src/server/webhooks/webhook-sender.ts";
import type { NewWebhook } from "../../../src/store/store.ts";
import { fakeClock } from "../../../src/testing/index.ts";

/** Adds a webhook, and returns its secret. */
export async function addWebhook(store: Store, url: string, over: Partial<NewWebhook> = {}): Promise<string> {
  const { webhookId = "w-1" } = over;
  const secret = await secretOf(store, webhookId);
  await store.addWebhook({
    webhookId,
    url,
    events: WEBHOOK_EVENTS,
    scope: EVERYTHING,
    content: false,
    secretCheck: secretCheck(secret),
    createdBy: "ana",
    ...over,
  });
  return secret;
}

export type TestSender = {
  /** Looks once, and waits until nothing is being sent. */
  readonly look: () => Promise<void>;
  readonly close: () => Promise<void>;
  readonly errors: readonly unknown[];
};

export function testSender(store: Store, now: () => number, allowsPrivate = true): TestSender {
  const errors: unknown[] = [];
  const clock = { ...fakeClock(), now };
  const sender = new WebhookSender({
    store,
    clock,
    random: () => 0,
    url: "https://pawl.example.com",
    fetch: webhookFetch(allowsPrivate),
    onError: (error) => errors.push(error),
  });
  return {
    look: async () => {
      await sender.look();
      await sender.idle();
    },
    close: () => sender.close(),
    errors,
  };
}
