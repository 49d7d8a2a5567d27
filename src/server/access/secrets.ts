import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto";
import { ACCESS_SECRET_BYTES, accessSecret } from "../../core/access/access-secret.ts";

/** A new token or code. */
export function newSecret(): string {
  return accessSecret(randomBytes(ACCESS_SECRET_BYTES));
}

/**
 * The key that signs the cookies of a store's sessions: derived, so that a cookie says nothing about the key for digests, and
 * the same in every process, so that a session outlives the server that made it.
 */
export function sessionKey(redactionKey: Uint8Array, storeId: string): Buffer {
  return Buffer.from(hkdfSync("sha256", redactionKey, storeId, "pawl session cookie", 32));
}

export function signatureOf(key: Uint8Array, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

/** In constant time: how long it takes shows nothing of where they differ. */
export function isSameSecret(one: Uint8Array, other: Uint8Array): boolean {
  return one.byteLength === other.byteLength && timingSafeEqual(one, other);
}
