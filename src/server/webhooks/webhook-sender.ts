import type { Clock } from "../../engine/ports/clock.ts";
import type { Store, WebhookDelivery, WebhookRecord } from "../../store/store.ts";
import { requestWebhook, type WebhookFetch } from "./webhook-request.ts";

/** How often the sender looks. A look without webhooks reads an empty table. */
const LOOK_MS = 1_000;
/** The most messages to one receiver at a time. */
const AT_ONCE = 8;
/** What is sent does not wait for the end of a long log. */
const PAGES_AT_ONCE = 10;

type SenderParts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: () => number;
  /** Where people find the dashboard. */
  readonly url: string;
  readonly fetch: WebhookFetch;
  readonly onError: (error: unknown) => void;
};

/**
 * Sends events of runs to webhooks. Everything that it has to do is in the store, each step is one transaction, and a message
 * that may have been sent is sent again under the same id: a sender may die anywhere, and several may work at once.
 */
export class WebhookSender {
  readonly #parts: SenderParts;
  /** The webhooks that something is being sent to: one that does not answer keeps no other waiting. */
  readonly #sending = new Map<string, Promise<void>>();
  #looking: Promise<void> | null = null;
  #stop: (() => void) | null = null;
  #isClosed = false;

  constructor(parts: SenderParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#stop ??= this.#parts.clock.every(LOOK_MS, () => {
      this.#looking ??= this.look().finally(() => {
        this.#looking = null;
      });
    });
  }

  /** Begins nothing more, and records what became of the messages that are under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stop?.();
    this.#stop = null;
    await this.#looking;
    await this.idle();
  }

  /** Records what is new, and begins to send what is due. */
  async look(): Promise<void> {
    const { store, onError } = this.#parts;
    try {
      let isDone = !(await store.hasWebhookNews());
      for (let pages = 0; pages < PAGES_AT_ONCE && !isDone && !this.#isClosed; pages += 1)
        ({ isDone } = await store.recordDeliveries());
      for (const webhookId of await store.listDueWebhooks()) this.#send(webhookId);
    } catch (error) {
      // The store does not answer: the next look begins where this one did.
      onError(error);
    }
  }

  /** Resolves once nothing is being sent. */
  async idle(): Promise<void> {
    await Promise.all(this.#sending.values());
  }

  #send(webhookId: string): void {
    if (this.#isClosed || this.#sending.has(webhookId)) return;
    const sending = this.#sendDue(webhookId)
      .catch(this.#parts.onError)
      .finally(() => this.#sending.delete(webhookId));
    this.#sending.set(webhookId, sending);
  }

  /** One after the other, so that a receiver which is slow gets no more at a time. */
  async #sendDue(webhookId: string): Promise<void> {
    const { store, onError } = this.#parts;
    while (!this.#isClosed) {
      const webhook = await store.getWebhook(webhookId);
      const claimed = webhook === null ? [] : await store.claimDeliveries(webhookId, AT_ONCE);
      if (webhook === null || claimed.length === 0) return;
      await Promise.all(claimed.map((delivery) => this.#deliver(webhook, delivery).catch(onError)));
    }
  }

  async #deliver(webhook: WebhookRecord, delivery: WebhookDelivery): Promise<void> {
    const { store, url, clock, random, fetch } = this.#parts;
    const means = { store, url, fetch, random, now: () => clock.now() };
    const outcome = await requestWebhook(means, webhook, delivery);
    const { webhookId, deliveryId, attempts } = delivery;
    await store.endDelivery({ webhookId, deliveryId, attempt: attempts, outcome });
  }
}
