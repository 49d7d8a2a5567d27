import { type GuardedFetch, guardedFetch, NetworkRefusedError } from "../../adapters/net/guarded-fetch.ts";
import { retryInMs } from "../../core/webhook/webhook-retry.ts";
import { webhookSignature } from "../../core/webhook/webhook-signature.ts";
import type { DeliveryOutcome, WebhookDelivery, WebhookRecord } from "../../store/store.ts";
import { type MessageParts, webhookBody } from "./webhook-message.ts";
import { type SecretStore, signingSecrets } from "./webhook-secret.ts";

const TIMEOUT_MS = 10_000;

/** Makes the request of a message, which ends with the signal. */
export type WebhookFetch = (signal: AbortSignal) => GuardedFetch;

/** Reaches everything that has an address on the internet; with `allowsPrivate`, also what has none. */
export function webhookFetch(allowsPrivate: boolean): WebhookFetch {
  const network = { allowedDomains: [], allowPrivateAddresses: allowsPrivate };
  return (signal) => guardedFetch({ network, signal });
}

/** What a request is made with. */
export type WebhookMeans = Pick<MessageParts, "url"> & {
  readonly store: SecretStore & MessageParts["store"];
  readonly fetch: WebhookFetch;
  readonly now: () => number;
  readonly random: () => number;
};

/** Sends a message once. Nothing of its answer counts but the status. */
export async function requestWebhook(
  { store, url, fetch, now, random }: WebhookMeans,
  webhook: WebhookRecord,
  delivery: WebhookDelivery,
): Promise<DeliveryOutcome> {
  const failed = (status: number | null, error: string): DeliveryOutcome => ({
    kind: "failed",
    status,
    error,
    retryInMs: retryInMs(delivery.tries, random()),
  });
  try {
    const body = await webhookBody({ store, url }, delivery, webhook.content);
    const secrets = await signingSecrets(store, webhook, now());
    // Ids of runs may have characters that no header has.
    const id = encodeURIComponent(delivery.deliveryId).replaceAll("%3A", ":");
    const timestamp = Math.floor(now() / 1_000);
    const response = await fetch(AbortSignal.timeout(TIMEOUT_MS))(webhook.url, {
      method: "POST",
      // The signature is for this address alone.
      redirect: "manual",
      body,
      headers: {
        "content-type": "application/json",
        "user-agent": "pawl",
        "webhook-id": id,
        "webhook-timestamp": String(timestamp),
        "webhook-signature": webhookSignature(secrets, { id, timestamp, body }),
      },
    });
    // An unread body keeps its socket.
    await response.body?.cancel().catch(() => {});
    const { status } = response;
    if (status === 410) return { kind: "gone", status };
    return response.ok ? { kind: "delivered", status } : failed(status, `The receiver answered ${status}.`);
  } catch (error) {
    return failed(null, whyNotSent(error));
  }
}

/**
 * Without the URL, which may have a secret in its path, and without the address that its name resolves to: an admin of a scope
 * could look up names of the internal network.
 */
function whyNotSent(error: unknown): string {
  if (NetworkRefusedError.isInstance(error))
    return "The address is private or reserved, or that of cloud credentials, and nothing is sent there: private ones are allowed with --allow-private-webhooks.";
  if (!(error instanceof Error)) return String(error);
  if (error.name === "TimeoutError") return `The receiver did not answer within ${TIMEOUT_MS / 1_000} s.`;
  const { cause } = error;
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : null;
  return code === null ? error.message : `The receiver could not be reached: ${code}.`;
}
