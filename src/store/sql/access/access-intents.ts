import { decideAccess, isUseNoted } from "../../../core/access/access-decision.ts";
import { readRole } from "../../../core/access/role.ts";
import { readScope } from "../../../core/access/scope.ts";
import { canonicalJson } from "../../../core/canonical-json.ts";
import { ConfigurationError } from "../../../core/errors.ts";
import { assertNameSize } from "../../../core/naming/name-size.ts";
import type { AccessRecord, NewAccess } from "../../store.ts";
import { hexOf } from "../digest.ts";
import type { SqlScript } from "../script.ts";
import type { Transaction } from "../transaction.ts";
import type { RowValues } from "../write.ts";
import { accessMadeFrom, findAccess, getAccess, wasRedeemedBy } from "./access-rows.ts";

/** One of two that redeem a code at once gets it, and nothing is made from what is revoked at the same time. */
const ACCESS = "access";

/** So much of its hash that two tokens never share it. */
const ID_BYTES = 8;

export function* grantAccess(tx: Transaction, access: NewAccess): SqlScript<AccessRecord> {
  assertAccess(access);
  const { kind, name, role, scope, hash, expiresAt, createdBy, madeFrom = null } = access;
  yield* tx.lockName(ACCESS);
  const known = yield* findAccess(hash);
  if (known !== null) return known;
  if (madeFrom !== null) yield* assertLives(madeFrom);
  const id = hexOf(hash.slice(0, ID_BYTES));
  const row = {
    access_id: id,
    kind,
    name,
    role: readRole(role),
    scope: canonicalJson(readScope(scope)),
    hash,
    created_at: tx.now,
    created_by: createdBy,
    made_from: madeFrom,
    expires_at: expiresAt,
    redeemed_at: null,
    redemption: null,
    last_used_at: null,
    revoked_at: null,
  };
  tx.write({ kind: "insert", table: "access_tokens", row });
  return yield* requireAccess(id);
}

function assertAccess({ kind, name, hash, expiresAt, createdBy }: NewAccess): void {
  const known: readonly unknown[] = ["token", "code"];
  if (!known.includes(kind))
    throw new ConfigurationError(`An access is ${JSON.stringify(kind)}: give "token" or "code".`);
  for (const [what, text] of Object.entries({ name, createdBy } as { readonly [what: string]: unknown })) {
    if (typeof text !== "string" || text.trim() === "")
      throw new ConfigurationError(`The ${what} of an access is ${JSON.stringify(text)}: give a name.`);
    assertNameSize(`${what} of an access`, text);
  }
  if (hash.byteLength !== 32)
    throw new ConfigurationError(`The hash of an access has ${hash.byteLength} bytes: give a SHA-256.`);
  if (expiresAt !== null && !Number.isSafeInteger(expiresAt))
    throw new ConfigurationError(
      `An access expires at ${String(expiresAt)}: give whole milliseconds since 1970, or null.`,
    );
}

function* assertLives(id: string): SqlScript<void> {
  const from = yield* getAccess(id);
  if (from !== null && from.revokedAt === null) return;
  throw new ConfigurationError(
    `Access ${JSON.stringify(id)} ${from === null ? "does not exist" : "was revoked"}: nothing can be made from it.`,
  );
}

function* requireAccess(id: string): SqlScript<AccessRecord> {
  const access = yield* getAccess(id);
  if (access === null) throw new Error(`Access ${id} was written, and is not there.`);
  return access;
}

/** `redemption` identifies the call: it may be run again after its commit, if the answer to that was lost. */
export function* redeemCode(
  tx: Transaction,
  hash: Uint8Array,
  redemption: Uint8Array,
): SqlScript<AccessRecord | null> {
  yield* tx.lockName(ACCESS);
  const access = yield* findAccess(hash);
  if (access?.kind !== "code") return null;
  if (yield* wasRedeemedBy(access.id, redemption)) return access;
  if (decideAccess(access, tx.now).kind !== "valid") return null;
  change(tx, access.id, { redeemed_at: tx.now, redemption, last_used_at: tx.now });
  return yield* requireAccess(access.id);
}

export function* revokeAccess(tx: Transaction, id: string): SqlScript<AccessRecord | null> {
  yield* tx.lockName(ACCESS);
  const access = yield* getAccess(id);
  if (access === null) return null;
  const left = [access];
  for (let each = left.shift(); each !== undefined; each = left.shift()) {
    if (each.revokedAt === null) change(tx, each.id, { revoked_at: tx.now });
    left.push(...(yield* accessMadeFrom(each.id)));
  }
  return yield* requireAccess(id);
}

/** Other than a revocation, it is no distrust of what was made in the session. */
export function* endSession(tx: Transaction, id: string): SqlScript<void> {
  yield* tx.lockName(ACCESS);
  const access = yield* getAccess(id);
  if (access?.kind === "code" && access.revokedAt === null) change(tx, id, { revoked_at: tx.now });
}

export function* noteAccessUse(tx: Transaction, id: string): SqlScript<void> {
  const access = yield* getAccess(id);
  if (access !== null && isUseNoted(access.lastUsedAt, tx.now)) change(tx, id, { last_used_at: tx.now });
}

function change(tx: Transaction, id: string, set: RowValues): void {
  tx.write({ kind: "update", table: "access_tokens", key: { access_id: id }, set });
}
