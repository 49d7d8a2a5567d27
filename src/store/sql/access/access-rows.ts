import { ROLES } from "../../../core/access/role.ts";
import { readScope } from "../../../core/access/scope.ts";
import type { AccessRecord } from "../../store.ts";
import type { Row } from "../row.ts";
import { all, exists, get, type SqlScript } from "../script.ts";
import { parseJson } from "../tables/run-row.ts";

const KINDS = ["token", "code"] as const;

function accessRecord(row: Row): AccessRecord {
  return {
    id: row.text("access_id"),
    kind: row.oneOf("kind", KINDS),
    name: row.text("name"),
    role: row.oneOf("role", ROLES),
    scope: readScope(parseJson(row.text("scope"))),
    createdAt: row.int("created_at"),
    createdBy: row.text("created_by"),
    madeFrom: row.optionalText("made_from"),
    expiresAt: row.optionalInt("expires_at"),
    redeemedAt: row.optionalInt("redeemed_at"),
    lastUsedAt: row.optionalInt("last_used_at"),
    revokedAt: row.optionalInt("revoked_at"),
  };
}

export function* findAccess(hash: Uint8Array): SqlScript<AccessRecord | null> {
  const row = yield* get("SELECT * FROM access_tokens WHERE hash = ?", hash);
  return row === null ? null : accessRecord(row);
}

export function* getAccess(id: string): SqlScript<AccessRecord | null> {
  const row = yield* get("SELECT * FROM access_tokens WHERE access_id = ?", id);
  return row === null ? null : accessRecord(row);
}

export function* listAccess(): SqlScript<AccessRecord[]> {
  const rows = yield* all("SELECT * FROM access_tokens ORDER BY created_at DESC, access_id");
  return rows.map(accessRecord);
}

/** Those that were made with this one. */
export function* accessMadeFrom(id: string): SqlScript<AccessRecord[]> {
  const rows = yield* all("SELECT * FROM access_tokens WHERE made_from = ? ORDER BY access_id", id);
  return rows.map(accessRecord);
}

/** True if this very call has exchanged the code. */
export function wasRedeemedBy(id: string, redemption: Uint8Array): SqlScript<boolean> {
  return exists(
    "SELECT 1 AS found FROM access_tokens WHERE access_id = ? AND redemption = ?",
    id,
    redemption,
  );
}
