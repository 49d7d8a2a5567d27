import { readScope } from "../../../core/access/scope.ts";
import { isJsonObject } from "../../../core/json.ts";
import { DELIVERED_EVENTS, WEBHOOK_EVENTS, type WebhookEvent } from "../../../core/webhook/webhook-events.ts";
import type { WebhookDelivery, WebhookRecord } from "../../store.ts";
import type { Row } from "../row.ts";
import { all, get, type SqlScript } from "../script.ts";
import { parseJson } from "../tables/run-row.ts";

function webhookRecord(row: Row): WebhookRecord {
  return {
    webhookId: row.text("webhook_id"),
    url: row.text("url"),
    events: readEvents(row.text("events")),
    scope: readScope(parseJson(row.text("scope"))),
    content: row.flag("content"),
    createdAt: row.int("created_at"),
    createdBy: row.text("created_by"),
    generation: row.int("generation"),
    secretCheck: row.text("secret_check"),
    rotatedAt: row.optionalInt("rotated_at"),
    disabledAt: row.optionalInt("disabled_at"),
  };
}

/** Those that a newer version of Pawl knows are left out. */
function readEvents(text: string): readonly WebhookEvent[] {
  const names = parseJson(text);
  return WEBHOOK_EVENTS.filter((event) => Array.isArray(names) && names.includes(event));
}

export function* listWebhooks(): SqlScript<WebhookRecord[]> {
  return (yield* all("SELECT * FROM webhooks ORDER BY created_at, webhook_id")).map(webhookRecord);
}

export function* getWebhook(webhookId: string): SqlScript<WebhookRecord | null> {
  const row = yield* get("SELECT * FROM webhooks WHERE webhook_id = ?", webhookId);
  return row === null ? null : webhookRecord(row);
}

/** Those that something is sent to. */
export function* activeWebhooks(): SqlScript<WebhookRecord[]> {
  return (yield* listWebhooks()).filter(({ disabledAt }) => disabledAt === null);
}

const STATES = ["pending", "delivered", "failed"] as const;

function delivery(row: Row): WebhookDelivery {
  const facts = parseJson(row.text("facts"));
  return {
    webhookId: row.text("webhook_id"),
    deliveryId: row.text("delivery_id"),
    event: row.oneOf("event", DELIVERED_EVENTS),
    runId: row.optionalText("run_id"),
    facts: isJsonObject(facts) ? facts : {},
    eventAt: row.int("event_at"),
    createdAt: row.int("created_at"),
    state: row.oneOf("state", STATES),
    attempts: row.int("attempts"),
    tries: row.int("tries"),
    nextAt: row.optionalInt("next_at"),
    lastAt: row.optionalInt("last_at"),
    lastStatus: row.optionalInt("last_status"),
    lastError: row.optionalText("last_error"),
  };
}

export function* getDelivery(webhookId: string, deliveryId: string): SqlScript<WebhookDelivery | null> {
  const row = yield* get(
    "SELECT * FROM webhook_deliveries WHERE webhook_id = ? AND delivery_id = ?",
    webhookId,
    deliveryId,
  );
  return row === null ? null : delivery(row);
}

const MOST_LISTED = 100;

export function* listDeliveries(webhookId: string): SqlScript<WebhookDelivery[]> {
  const rows = yield* all(
    `SELECT * FROM webhook_deliveries WHERE webhook_id = ? ORDER BY created_at DESC, delivery_id DESC LIMIT ${MOST_LISTED}`,
    webhookId,
  );
  return rows.map(delivery);
}

export function* dueDeliveries(webhookId: string, now: number, limit: number): SqlScript<WebhookDelivery[]> {
  const rows = yield* all(
    "SELECT * FROM webhook_deliveries WHERE webhook_id = ? AND next_at <= ? ORDER BY next_at, event_at, delivery_id LIMIT ?",
    webhookId,
    now,
    limit,
  );
  return rows.map(delivery);
}

const DUE = `SELECT DISTINCT webhook_id FROM webhook_deliveries JOIN webhooks USING (webhook_id)
   WHERE next_at <= ? AND disabled_at IS NULL ORDER BY webhook_id`;

/** The webhooks that something is to be sent to now. */
export function* dueWebhooks(now: number): SqlScript<string[]> {
  return (yield* all(DUE, now)).map((row) => row.text("webhook_id"));
}
