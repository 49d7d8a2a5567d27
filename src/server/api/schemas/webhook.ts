import { z } from "zod";
import { DELIVERED_EVENTS, WEBHOOK_EVENTS } from "../../../core/webhook/webhook-events.ts";
import { optionalTime, time } from "./field-schemas.ts";
import { scope } from "./house.ts";

const event = z.enum(WEBHOOK_EVENTS).meta({ id: "WebhookEvent" });

const webhook = z
  .object({
    webhookId: z.string(),
    url: z.string(),
    events: z.array(event),
    scope,
    content: z.boolean().meta({ description: "Questions, arguments and messages of errors are sent, too." }),
    createdAt: time,
    createdBy: z.string(),
    rotatedAt: optionalTime.meta({ description: "When its secret was replaced last." }),
    disabledAt: optionalTime.meta({ description: "When the receiver answered 410; nothing is sent since." }),
  })
  .meta({ id: "Webhook", description: "A webhook, without its secret." });
export const webhookList = z.object({ items: z.array(webhook) }).meta({ id: "WebhookList" });
export const newWebhook = z
  .strictObject({
    url: z.string().min(1).max(2_000),
    events: z.array(event).min(1).max(WEBHOOK_EVENTS.length),
    scope: scope.optional(),
    content: z.boolean().optional(),
  })
  .meta({ id: "NewWebhook" });
export const createdWebhook = z
  .object({ webhook, secret: z.string().meta({ description: "Shown once: it is not stored." }) })
  .meta({ id: "CreatedWebhook" });

export const delivery = z
  .object({
    deliveryId: z.string().meta({
      description: "The `webhook-id` of the message, whenever it is sent; the header is percent-encoded.",
    }),
    event: z.enum(DELIVERED_EVENTS),
    runId: z.string().nullable(),
    at: time,
    state: z.enum(["pending", "delivered", "failed"]),
    attempts: z.int(),
    nextAt: optionalTime,
    lastAt: optionalTime,
    lastStatus: z.int().nullable(),
    lastError: z.string().nullable(),
  })
  .meta({ id: "Delivery", description: "Something that is sent to a webhook, until it was received." });
export const deliveryList = z.object({ items: z.array(delivery) }).meta({ id: "DeliveryList" });
