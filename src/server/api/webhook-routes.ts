import type { Route } from "./route.ts";
import * as webhooks from "./schemas/webhook.ts";

const NOT_THERE = { 404: "There is no such webhook, or it is outside of your scope." };
const OFF = { 409: "The receiver has answered 410: nothing is sent to it." };

/** Addresses that events of runs are sent to. */
export const WEBHOOK_ROUTES = {
  listWebhooks: {
    tag: "webhooks",
    summary: "The webhooks, without their secrets",
    answers: { 200: webhooks.webhookList },
  },
  createWebhook: {
    tag: "webhooks",
    summary: "Add a webhook; its secret is shown once",
    body: webhooks.newWebhook,
    answers: { 201: webhooks.createdWebhook },
  },
  deleteWebhook: {
    tag: "webhooks",
    summary: "Remove a webhook, with what was not sent",
    answers: { 204: "empty" },
    problems: NOT_THERE,
  },
  rotateWebhook: {
    tag: "webhooks",
    summary: "Replace the secret; for a day, the one before it signs as well",
    answers: { 200: webhooks.createdWebhook },
    problems: NOT_THERE,
  },
  testWebhook: {
    tag: "webhooks",
    summary: "Send a test; its delivery says what became of it",
    answers: { 202: webhooks.delivery },
    problems: { ...NOT_THERE, ...OFF },
  },
  listDeliveries: {
    tag: "webhooks",
    summary: "The last 100 deliveries, newest first",
    answers: { 200: webhooks.deliveryList },
    problems: NOT_THERE,
  },
  sendAgain: {
    tag: "webhooks",
    summary: "Send a delivery again, under the same id",
    answers: { 202: webhooks.delivery },
    problems: { ...NOT_THERE, ...OFF },
  },
} as const satisfies { readonly [id: string]: Route };
