import { randomUUID } from "node:crypto";
import { secretCheck } from "../../core/webhook/webhook-signature.ts";
import { isoTime } from "../../export/figures.ts";
import type { Store, WebhookDelivery, WebhookRecord } from "../../store/store.ts";
import { isWithin } from "../access/scope-decision.ts";
import type { Handlers } from "../handler.ts";
import { HttpProblem } from "../http-problem.ts";
import type { Principal } from "../principal.ts";
import { newWebhookId, secretOf } from "./webhook-secret.ts";

export type WebhookOperation =
  | "listWebhooks"
  | "createWebhook"
  | "deleteWebhook"
  | "rotateWebhook"
  | "testWebhook"
  | "listDeliveries"
  | "sendAgain";

/** Webhooks. An admin of a scope makes, sees and changes those of that scope only. */
export function webhookHandlers(store: Store): Handlers<WebhookOperation> {
  return {
    listWebhooks: async (_, { principal }) => {
      const all = await store.listWebhooks();
      const items = all.filter(({ scope }) => isWithin(scope, principal.scope)).map(webhookDocument);
      return { status: 200, body: { items } };
    },
    createWebhook: async ({ body }, { principal }) => {
      const { url, events, content = false, scope = principal.scope } = body;
      if (!isWithin(scope, principal.scope))
        throw new HttpProblem(
          403,
          "scope_too_wide",
          "The webhook would get events of runs that you do not see: give it a scope within your own.",
        );
      const webhookId = newWebhookId();
      const secret = await secretOf(store, webhookId);
      const settings = { url, events, content, scope };
      const webhook = await store.addWebhook({
        ...settings,
        webhookId,
        secretCheck: secretCheck(secret),
        createdBy: principal.name,
      });
      return { status: 201, body: { webhook: webhookDocument(webhook), secret } };
    },
    deleteWebhook: async ({ params: { webhookId } }, { principal }) => {
      await required(store, webhookId, principal);
      await store.removeWebhook(webhookId);
      return new Response(null, { status: 204 });
    },
    rotateWebhook: async ({ params: { webhookId } }, { principal }) => {
      const generation = (await required(store, webhookId, principal)).generation + 1;
      const secret = await secretOf(store, webhookId, generation);
      const next = { generation, secretCheck: secretCheck(secret) };
      const webhook =
        (await store.rotateWebhook(webhookId, next)) ?? (await required(store, webhookId, principal));
      return { status: 200, body: { webhook: webhookDocument(webhook), secret } };
    },
    ...deliveryHandlers(store),
  };
}

/** What was sent to a webhook, and what is to be sent again. */
function deliveryHandlers(store: Store): Handlers<"testWebhook" | "listDeliveries" | "sendAgain"> {
  return {
    testWebhook: async ({ params: { webhookId } }, { principal }) => {
      await required(store, webhookId, principal);
      const delivery = await store.testWebhook(webhookId, `test:${randomUUID()}`);
      if (delivery === null) throw isOff(webhookId);
      return { status: 202, body: deliveryDocument(delivery) };
    },
    listDeliveries: async ({ params: { webhookId } }, { principal }) => {
      await required(store, webhookId, principal);
      const items = (await store.listDeliveries(webhookId)).map(deliveryDocument);
      return { status: 200, body: { items } };
    },
    sendAgain: async ({ params: { webhookId, deliveryId } }, { principal }) => {
      const { disabledAt } = await required(store, webhookId, principal);
      if (disabledAt !== null) throw isOff(webhookId);
      const delivery = await store.sendAgain(webhookId, deliveryId);
      if (delivery === null)
        throw new HttpProblem(
          404,
          "delivery_not_found",
          `Webhook ${webhookId} has no delivery ${deliveryId}: list them with GET /v1/webhooks/${webhookId}/deliveries.`,
        );
      return { status: 202, body: deliveryDocument(delivery) };
    },
  };
}

/** The webhook, if the principal may see it. */
async function required(store: Store, webhookId: string, { scope }: Principal): Promise<WebhookRecord> {
  const webhook = await store.getWebhook(webhookId);
  if (webhook !== null && isWithin(webhook.scope, scope)) return webhook;
  throw new HttpProblem(
    404,
    "webhook_not_found",
    `There is no webhook ${webhookId}: list them with GET /v1/webhooks.`,
  );
}

function webhookDocument({ webhookId, url, events, scope, content, ...webhook }: WebhookRecord) {
  return {
    webhookId,
    url,
    events: [...events],
    scope,
    content,
    createdAt: isoTime(webhook.createdAt),
    createdBy: webhook.createdBy,
    rotatedAt: isoTime(webhook.rotatedAt),
    disabledAt: isoTime(webhook.disabledAt),
  };
}

function deliveryDocument({ deliveryId, event, runId, state, attempts, ...delivery }: WebhookDelivery) {
  return {
    deliveryId,
    event,
    runId,
    state,
    attempts,
    at: isoTime(delivery.eventAt),
    nextAt: isoTime(delivery.nextAt),
    lastAt: isoTime(delivery.lastAt),
    lastStatus: delivery.lastStatus,
    lastError: delivery.lastError,
  };
}

function isOff(webhookId: string): HttpProblem {
  return new HttpProblem(
    409,
    "webhook_off",
    `The receiver of webhook ${webhookId} has answered 410, and gets nothing more: remove it, and add it again.`,
  );
}
