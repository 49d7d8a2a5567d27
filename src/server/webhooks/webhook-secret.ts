import { randomBytes } from "node:crypto";
import { PREVIOUS_SECRET_MS, secretCheck, webhookSecret } from "../../core/webhook/webhook-signature.ts";
import type { Store, WebhookRecord } from "../../store/store.ts";

/** A store, as far as secrets are made from it. */
export type SecretStore = Pick<Store, "redactionKey" | "storeId">;

/** An id that no other webhook has. */
export function newWebhookId(): string {
  return `wh_${randomBytes(8).toString("hex")}`;
}

/** A secret of the webhook: the first one, or the one of a later generation. */
export async function secretOf(store: SecretStore, webhookId: string, generation = 1): Promise<string> {
  const storeId = await store.storeId();
  return webhookSecret({ storeKey: store.redactionKey(), storeId, webhookId, generation });
}

/** The secrets that sign a message to the webhook now: while one is being replaced, both of them. */
export async function signingSecrets(
  store: SecretStore,
  { webhookId, generation, rotatedAt, ...webhook }: WebhookRecord,
  now: number,
): Promise<readonly string[]> {
  const secret = await secretOf(store, webhookId, generation);
  if (secretCheck(secret) !== webhook.secretCheck)
    throw new Error(
      "This server has another key than the one that the secret was made with: give it the key of the store, or replace the secret.",
    );
  const isNew = rotatedAt !== null && now - rotatedAt < PREVIOUS_SECRET_MS;
  return isNew ? [secret, await secretOf(store, webhookId, generation - 1)] : [secret];
}
