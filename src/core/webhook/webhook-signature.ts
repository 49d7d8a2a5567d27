import { createHash, createHmac, hkdfSync } from "node:crypto";

const PREFIX = "whsec_";

/** For how long the secret before the last one signs, too. */
export const PREVIOUS_SECRET_MS = 24 * 3_600_000;

/** What a secret is made from. */
export type WebhookSecretParts = {
  /** The key of the store, which is not in its database. */
  readonly storeKey: Uint8Array;
  readonly storeId: string;
  readonly webhookId: string;
  /** From 1; the next one makes another secret. */
  readonly generation: number;
};

/** The secret of a webhook. It is stored nowhere: every process that has the key of the store makes the same one. */
export function webhookSecret({ storeKey, storeId, webhookId, generation }: WebhookSecretParts): string {
  const info = `pawl webhook ${webhookId} ${generation}`;
  return `${PREFIX}${Buffer.from(hkdfSync("sha256", storeKey, storeId, info, 32)).toString("base64")}`;
}

/** Shows that a process makes the secret that the receiver has, and nothing of the secret. */
export function secretCheck(secret: string): string {
  return createHash("sha256").update(`pawl webhook check ${secret}`).digest("hex").slice(0, 16);
}

/** A message, as its headers and its body have it. */
export type SignedMessage = { readonly id: string; readonly timestamp: number; readonly body: string };

/** The value of `webhook-signature`, by Standard Webhooks: one signature for each secret. */
export function webhookSignature(secrets: readonly string[], { id, timestamp, body }: SignedMessage): string {
  return secrets
    .map((secret) => {
      const key = Buffer.from(secret.slice(PREFIX.length), "base64");
      return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
    })
    .join(" ");
}
