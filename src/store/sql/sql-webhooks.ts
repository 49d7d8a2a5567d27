import type * as contract from "../store.ts";
import { SqlAccess } from "./sql-access.ts";
import * as intents from "./webhooks/webhook-intents.ts";

/** The intents around webhooks. */
export abstract class SqlWebhooks extends SqlAccess implements contract.WebhookStore {
  addWebhook(webhook: contract.NewWebhook): Promise<contract.WebhookRecord> {
    return this.act("addWebhook", null, (tx) => intents.addWebhook(tx, this.driver.changeLog, webhook));
  }

  removeWebhook(webhookId: string): Promise<boolean> {
    return this.act("removeWebhook", null, (tx) => intents.removeWebhook(tx, webhookId));
  }

  rotateWebhook(
    ...[webhookId, next]: Parameters<contract.WebhookStore["rotateWebhook"]>
  ): Promise<contract.WebhookRecord | null> {
    return this.act("rotateWebhook", null, (tx) => intents.rotateWebhook(tx, webhookId, next));
  }

  testWebhook(webhookId: string, deliveryId: string): Promise<contract.WebhookDelivery | null> {
    return this.act("testWebhook", null, (tx) => intents.testWebhook(tx, webhookId, deliveryId));
  }

  sendAgain(webhookId: string, deliveryId: string): Promise<contract.WebhookDelivery | null> {
    return this.act("sendAgain", null, (tx) => intents.sendAgain(tx, webhookId, deliveryId));
  }

  recordDeliveries(): ReturnType<contract.WebhookStore["recordDeliveries"]> {
    return this.act("recordDeliveries", null, (tx) => intents.recordDeliveries(tx, this.driver.changeLog));
  }

  claimDeliveries(webhookId: string, limit: number): Promise<readonly contract.WebhookDelivery[]> {
    return this.act("claimDeliveries", null, (tx) => intents.claimDeliveries(tx, webhookId, limit));
  }

  endDelivery(end: contract.DeliveryEnd): Promise<void> {
    return this.act("endDelivery", null, (tx) => intents.endDelivery(tx, end));
  }
}
