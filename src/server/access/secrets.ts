import { createHash, createHmac, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto";

/** A new token or code: 32 random bytes, in a form that scanners of leaked secrets can find. */
export function newSecret(): string {
  return `pawl_${randomBytes(32).toString("base64url")}`;
}

/** What is stored of a secret. A secret is random, so its plain hash cannot be guessed from. */
export function hashOfSecret(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
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
