import type { JsonObject } from "../../core/json.ts";
import type { DeliveredEvent } from "../../core/webhook/webhook-events.ts";
import type { WebhookSettings } from "../../core/webhook/webhook-settings.ts";

export type { DeliveredEvent, WebhookEvent } from "../../core/webhook/webhook-events.ts";
export type { WebhookSettings } from "../../core/webhook/webhook-settings.ts";

/** A webhook to add. */
export type NewWebhook = WebhookSettings & {
  readonly webhookId: string;
  /** Of its first secret, which is stored nowhere. */
  readonly secretCheck: string;
  /** The name of the person who adds it. */
  readonly createdBy: string;
};

/** A webhook, without its secret. */
export type WebhookRecord = NewWebhook & {
  readonly createdAt: number;
  /** Which secret signs, from 1. */
  readonly generation: number;
  /** When the secret was replaced last: the one before it signs for a while, too. */
  readonly rotatedAt: number | null;
  /** When the receiver answered that it is gone. Nothing is sent from then on. */
  readonly disabledAt: number | null;
};

/** Something that is sent to a webhook, until it was received. */
export type WebhookDelivery = {
  readonly webhookId: string;
  /** The same whenever it is sent: by it the receiver recognises a repeat. */
  readonly deliveryId: string;
  readonly event: DeliveredEvent;
  readonly runId: string | null;
  readonly facts: JsonObject;
  /** When it happened. */
  readonly eventAt: number;
  readonly createdAt: number;
  /** `failed` once all attempts have failed. */
  readonly state: "pending" | "delivered" | "failed";
  /** Those that were begun. The number only grows, so that it names an attempt. */
  readonly attempts: number;
  /** Those since it was recorded, or since a person had it sent again: the next pause depends on it. */
  readonly tries: number;
  /** When it is sent next; null if it is not. */
  readonly nextAt: number | null;
  /** When it was sent last, the status of the answer, and what went wrong. */
  readonly lastAt: number | null;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
};

/** What became of an attempt. */
export type DeliveryOutcome =
  | { readonly kind: "delivered"; readonly status: number }
  | {
      readonly kind: "failed";
      readonly status: number | null;
      readonly error: string;
      /** Null if it is not tried again. */
      readonly retryInMs: number | null;
    }
  /** The receiver wants nothing any more. */
  | { readonly kind: "gone"; readonly status: number };

/** An attempt that was claimed, and what became of it. */
export type DeliveryEnd = {
  readonly webhookId: string;
  readonly deliveryId: string;
  /** The number of the attempt, as it was claimed. */
  readonly attempt: number;
  readonly outcome: DeliveryOutcome;
};
