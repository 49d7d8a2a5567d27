import type { DeliveryEnd, NewWebhook, WebhookDelivery, WebhookRecord } from "./webhook-records.ts";

/** Addresses that events of runs are sent to. No bundle of a run has any of it. */
export interface WebhookReader {
  /** The oldest first. */
  listWebhooks(): Promise<readonly WebhookRecord[]>;
  getWebhook(webhookId: string): Promise<WebhookRecord | null>;
  /** The newest first; at most 100. */
  listDeliveries(webhookId: string): Promise<readonly WebhookDelivery[]>;
  /** True if `recordDeliveries` has something to do. Asked often: it reads little. */
  hasWebhookNews(): Promise<boolean>;
  /** The webhooks that something is to be sent to now. */
  listDueWebhooks(): Promise<readonly string[]>;
}

/** The intents around webhooks. They are in no run's log, and no intent of a run writes anything for them. */
export interface WebhookStore {
  /** It gets what happens from now on. The same id again changes nothing. */
  addWebhook(webhook: NewWebhook): Promise<WebhookRecord>;

  /** Removes it with its deliveries. False if there is none. */
  removeWebhook(webhookId: string): Promise<boolean>;

  /** From now on the secret of this generation signs. Null if there is no such webhook. */
  rotateWebhook(
    webhookId: string,
    next: { readonly generation: number; readonly secretCheck: string },
  ): Promise<WebhookRecord | null>;

  /** Sends a test, of this id. Null if there is no such webhook, or the receiver is gone. */
  testWebhook(webhookId: string, deliveryId: string): Promise<WebhookDelivery | null>;

  /** Sends something again now, whatever became of it. Null if there is no such delivery, or the receiver is gone. */
  sendAgain(webhookId: string, deliveryId: string): Promise<WebhookDelivery | null>;

  /**
   * Reads on in the log of all runs, records a delivery for each webhook that asks for an event, once, and moves the
   * place up to which it was read: in one transaction. Some at a time: `isDone` is false while there may be more.
   */
  recordDeliveries(): Promise<{ readonly isDone: boolean }>;

  /**
   * Begins an attempt of what is due for this webhook. Nobody else gets it for a minute: after that, this process is taken for
   * dead, and it is sent again.
   */
  claimDeliveries(webhookId: string, limit: number): Promise<readonly WebhookDelivery[]>;

  /** Records what became of an attempt. Of an attempt that is not the last one, only that it was received counts. */
  endDelivery(end: DeliveryEnd): Promise<void>;
}
