import { hash } from "node:crypto";

/** How many random bytes a token or a login code is made of: nobody guesses one, so its hash needs no salt. */
export const ACCESS_SECRET_BYTES = 32;

const SECRET = /^pawl_[A-Za-z0-9_-]{43}$/;

/** The text of a token or a login code, which is shown once. The prefix is for scanners that look for lost secrets. */
export function accessSecret(random: Uint8Array): string {
  if (random.byteLength !== ACCESS_SECRET_BYTES)
    throw new Error(
      `A token is made of ${ACCESS_SECRET_BYTES} random bytes, and not of ${random.byteLength}.`,
    );
  return `pawl_${Buffer.from(random).toString("base64url")}`;
}

/** True for a text that may be a token or a login code. */
export function isAccessSecret(text: string): boolean {
  return SECRET.test(text);
}

/** What is stored in place of the secret. It is found by equality: the time of that tells nothing about the secret. */
export function accessHash(secret: string): Uint8Array {
  return hash("sha256", secret, "buffer");
}
