/** An access token or a login code, as far as its use depends on it. */
export type AccessToUse = {
  readonly kind: "token" | "code";
  readonly expiresAt: number | null;
  readonly redeemedAt: number | null;
  readonly revokedAt: number | null;
};

export type AccessDecision =
  | { readonly kind: "valid" }
  /** A person has ended it, with everything that was made from it. */
  | { readonly kind: "revoked" }
  /** A code that was exchanged for a session: that session lives on, and the code is worth nothing. */
  | { readonly kind: "redeemed" }
  | { readonly kind: "expired" };

/** Decides whether a token may be used now, or a code exchanged for a session. */
export function decideAccess({ expiresAt, redeemedAt, revokedAt }: AccessToUse, now: number): AccessDecision {
  if (revokedAt !== null) return { kind: "revoked" };
  if (redeemedAt !== null) return { kind: "redeemed" };
  return { kind: expiresAt !== null && expiresAt <= now ? "expired" : "valid" };
}

/** A token's last use is noted to a minute: a write for every request would cost more than it tells. */
const NOTED_EVERY_MS = 60_000;

/** True if a use of the token at this time is to be noted. */
export function isUseNoted(lastUsedAt: number | null, now: number): boolean {
  return lastUsedAt === null || now - lastUsedAt >= NOTED_EVERY_MS;
}
