import { canonicalJson } from "../../../core/canonical-json.ts";
import { ConfigurationError } from "../../../core/errors.ts";
import { assertNameSize } from "../../../core/naming/name-size.ts";
import { readWebhookSettings } from "../../../core/webhook/webhook-settings.ts";
import type { DeliveryEnd, NewWebhook, WebhookDelivery, WebhookRecord } from "../../store.ts";
import type { ChangeLog } from "../change-log.ts";
import { all, type SqlScript } from "../script.ts";
import type { Transaction } from "../transaction.ts";
import type { RowValues } from "../write.ts";
import { KEPT_MS, presentFeed, type WebhookFeed, writeFeed } from "./webhook-feed.ts";
import { type NewDelivery, webhookNews } from "./webhook-news.ts";
import { activeWebhooks, dueDeliveries, getDelivery, getWebhook, listWebhooks } from "./webhook-rows.ts";

/** Two servers record each event once, and send each delivery once at a time. */
const WEBHOOKS = "webhooks";

/** How long nobody else gets a delivery that is being sent. Longer than a request may take. */
const CLAIMED_MS = 60_000;

export function* addWebhook(tx: Transaction, log: ChangeLog, given: NewWebhook): SqlScript<WebhookRecord> {
  const { url, events, scope, content } = readWebhookSettings(given);
  const { webhookId, secretCheck, createdBy } = given;
  for (const [what, text] of Object.entries({ webhookId, secretCheck, createdBy })) {
    if (typeof text !== "string" || text.trim() === "")
      throw new ConfigurationError(`The ${what} of a webhook is ${JSON.stringify(text)}: give a text.`);
    assertNameSize(`${what} of a webhook`, text);
  }
  yield* tx.lockName(WEBHOOKS);
  const known = yield* getWebhook(webhookId);
  if (known !== null) return known;
  // Without a webhook nothing is read: what has happened meanwhile is for nobody.
  if ((yield* activeWebhooks()).length === 0) writeFeed(tx, yield* presentFeed(log, tx.now));
  const row = {
    webhook_id: webhookId,
    url,
    events: canonicalJson(events),
    scope: canonicalJson(scope),
    content: content ? 1 : 0,
    created_at: tx.now,
    created_by: createdBy,
    generation: 1,
    secret_check: secretCheck,
    rotated_at: null,
    disabled_at: null,
  };
  tx.write({ kind: "insert", table: "webhooks", row });
  const added = yield* getWebhook(webhookId);
  if (added === null) throw new Error(`Webhook ${webhookId} was written, and is not there.`);
  return added;
}

export function* removeWebhook(tx: Transaction, webhookId: string): SqlScript<boolean> {
  yield* tx.lockName(WEBHOOKS);
  const isThere = (yield* getWebhook(webhookId)) !== null;
  tx.write({ kind: "remove", table: "webhook_deliveries", key: { webhook_id: webhookId } });
  tx.write({ kind: "remove", table: "webhooks", key: { webhook_id: webhookId } });
  return isThere;
}

export function* rotateWebhook(
  tx: Transaction,
  webhookId: string,
  { generation, secretCheck }: { readonly generation: number; readonly secretCheck: string },
): SqlScript<WebhookRecord | null> {
  yield* tx.lockName(WEBHOOKS);
  const webhook = yield* getWebhook(webhookId);
  if (webhook === null) return null;
  // Of two that replace a secret at once, both show the same one.
  if (webhook.generation < generation)
    changeWebhook(tx, webhookId, { generation, secret_check: secretCheck, rotated_at: tx.now });
  return yield* getWebhook(webhookId);
}

export function* testWebhook(
  tx: Transaction,
  webhookId: string,
  deliveryId: string,
): SqlScript<WebhookDelivery | null> {
  yield* tx.lockName(WEBHOOKS);
  if (!(yield* isActive(webhookId))) return null;
  const known = yield* getDelivery(webhookId, deliveryId);
  if (known !== null) return known;
  insertDelivery(tx, { webhookId, deliveryId, event: "webhook.test", runId: null, facts: {}, at: tx.now });
  return yield* getDelivery(webhookId, deliveryId);
}

export function* sendAgain(
  tx: Transaction,
  webhookId: string,
  deliveryId: string,
): SqlScript<WebhookDelivery | null> {
  yield* tx.lockName(WEBHOOKS);
  if (!(yield* isActive(webhookId)) || (yield* getDelivery(webhookId, deliveryId)) === null) return null;
  changeDelivery(tx, { webhookId, deliveryId }, { state: "pending", tries: 0, next_at: tx.now });
  return yield* getDelivery(webhookId, deliveryId);
}

function* isActive(webhookId: string): SqlScript<boolean> {
  return (yield* getWebhook(webhookId))?.disabledAt === null;
}

export function* recordDeliveries(tx: Transaction, log: ChangeLog): SqlScript<{ readonly isDone: boolean }> {
  yield* tx.lockName(WEBHOOKS);
  const { deliveries, feed, hasMore } = yield* webhookNews(log, tx.now);
  for (const each of deliveries) insertDelivery(tx, each);
  if (feed !== null) writeFeed(tx, feed);
  yield* removeOld(tx, feed);
  return { isDone: !hasMore };
}

function insertDelivery(
  tx: Transaction,
  {
    webhookId,
    deliveryId,
    event,
    runId,
    facts,
    at,
  }: Omit<NewDelivery, "event" | "runId"> & Pick<WebhookDelivery, "event" | "runId">,
): void {
  const row = {
    webhook_id: webhookId,
    delivery_id: deliveryId,
    event,
    run_id: runId,
    facts: canonicalJson(facts),
    event_at: at,
    created_at: tx.now,
    state: "pending",
    attempts: 0,
    tries: 0,
    next_at: tx.now,
    last_at: null,
    last_status: null,
    last_error: null,
  };
  // It may be recorded already: a budget has one threshold, however often it is looked at, and events may be read twice.
  tx.write({ kind: "keep", table: "webhook_deliveries", row });
}

/** What is over, and of no run that could ask for it again. */
const OVER = `SELECT delivery_id FROM webhook_deliveries AS d
   WHERE webhook_id = ? AND created_at < ? AND next_at IS NULL AND NOT EXISTS (
     SELECT 1 FROM runs WHERE runs.run_id = d.run_id AND status IN ('queued', 'running', 'waiting'))
   ORDER BY created_at LIMIT 100`;
/** Of a webhook that is off: nothing is recorded for it again, and nothing is sent. */
const OFF = `SELECT delivery_id FROM webhook_deliveries WHERE webhook_id = ? AND created_at < ?
   ORDER BY created_at LIMIT 100`;

function* removeOld(tx: Transaction, feed: WebhookFeed | null): SqlScript<void> {
  for (const { webhookId, disabledAt } of yield* listWebhooks()) {
    // A second look knows by what is recorded what was sent.
    if (disabledAt === null && feed !== null && feed.again !== null) continue;
    for (const row of yield* all(disabledAt === null ? OVER : OFF, webhookId, tx.now - KEPT_MS)) {
      const key = { webhook_id: webhookId, delivery_id: row.text("delivery_id") };
      tx.write({ kind: "remove", table: "webhook_deliveries", key });
    }
  }
}

export function* claimDeliveries(
  tx: Transaction,
  webhookId: string,
  limit: number,
): SqlScript<readonly WebhookDelivery[]> {
  yield* tx.lockName(WEBHOOKS);
  if (!(yield* isActive(webhookId))) return [];
  const claimed = (yield* dueDeliveries(webhookId, tx.now, limit)).map((each) => ({
    ...each,
    attempts: each.attempts + 1,
    tries: each.tries + 1,
    nextAt: tx.now + CLAIMED_MS,
    lastAt: tx.now,
  }));
  for (const each of claimed) {
    const { attempts, tries, nextAt, lastAt } = each;
    changeDelivery(tx, each, { attempts, tries, next_at: nextAt, last_at: lastAt });
  }
  return claimed;
}

export function* endDelivery(tx: Transaction, end: DeliveryEnd): SqlScript<void> {
  const { webhookId, deliveryId, attempt, outcome } = end;
  yield* tx.lockName(WEBHOOKS);
  const known = yield* getDelivery(webhookId, deliveryId);
  if (known?.state !== "pending") return;
  if (outcome.kind === "delivered") {
    const { status } = outcome;
    changeDelivery(tx, known, { state: "delivered", next_at: null, last_status: status, last_error: null });
    return;
  }
  // Another process has it since, or a person has it sent again.
  if (known.attempts !== attempt) return;
  const retryInMs = outcome.kind === "gone" ? null : outcome.retryInMs;
  changeDelivery(tx, known, {
    state: retryInMs === null ? "failed" : "pending",
    next_at: retryInMs === null ? null : tx.now + retryInMs,
    last_status: outcome.status,
    last_error: outcome.kind === "gone" ? "The receiver is gone." : outcome.error,
  });
  if (outcome.kind === "gone") changeWebhook(tx, webhookId, { disabled_at: tx.now });
}

function changeWebhook(tx: Transaction, webhookId: string, set: RowValues): void {
  tx.write({ kind: "update", table: "webhooks", key: { webhook_id: webhookId }, set });
}

function changeDelivery(
  tx: Transaction,
  { webhookId, deliveryId }: Pick<WebhookDelivery, "webhookId" | "deliveryId">,
  set: RowValues,
): void {
  const key = { webhook_id: webhookId, delivery_id: deliveryId };
  tx.write({ kind: "update", table: "webhook_deliveries", key, set });
}
