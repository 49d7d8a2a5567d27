import { AuditChain, type ChainedEntry, NO_ENTRY } from "../../../core/access/audit-chain.ts";
import { ROLES } from "../../../core/access/role.ts";
import type { AuditRange, AuditRecord, AuditVerification } from "../../store.ts";
import { hexOf } from "../digest.ts";
import type { Row } from "../row.ts";
import { all, get, type SqlScript, type SqlValue } from "../script.ts";
import type { RowOf } from "../table-list.ts";

/** The batch is with its first entry alone. */
export function auditRow(entry: ChainedEntry, batch: Uint8Array | null): RowOf<"audit_log"> {
  const { no, at, who, act, target, status, problem, requestId, previousHash, hash } = entry;
  return {
    audit_no: no,
    at,
    who: who.name,
    access_id: who.id,
    role: who.role,
    act,
    target,
    status,
    problem,
    request_id: requestId,
    previous_hash: previousHash,
    hash,
    batch,
  };
}

function auditRecord(row: Row): AuditRecord {
  return {
    no: row.int("audit_no"),
    at: row.int("at"),
    who: {
      name: row.text("who"),
      id: row.optionalText("access_id"),
      role: row.optionalOneOf("role", ROLES),
    },
    act: row.text("act"),
    target: row.optionalText("target"),
    status: row.int("status"),
    problem: row.optionalText("problem"),
    requestId: row.optionalText("request_id"),
  };
}

/** The first entry that was appended with this batch; null if none was. */
export function* entryOfBatch(batch: Uint8Array): SqlScript<AuditRecord | null> {
  const row = yield* get("SELECT * FROM audit_log WHERE batch = ?", batch);
  return row === null ? null : auditRecord(row);
}

/** The end of the log, which the next entry follows. */
export function* lastEntry(): SqlScript<Pick<ChainedEntry, "no" | "hash">> {
  const row = yield* get("SELECT audit_no, hash FROM audit_log ORDER BY audit_no DESC LIMIT 1");
  return row === null ? NO_ENTRY : { no: row.int("audit_no"), hash: row.bytes("hash") };
}

const [DEFAULT_LIMIT, MOST_LISTED] = [100, 1_000];

export function* listAudit(range: AuditRange): SqlScript<AuditRecord[]> {
  const { after, who, act, target, since, until, limit = DEFAULT_LIMIT } = range;
  const conditions: [condition: string, value: SqlValue | undefined][] = [
    ["audit_no < ?", after],
    ["who = ?", who],
    ["act = ?", act],
    ["target = ?", target],
    ["at >= ?", since],
    ["at <= ?", until],
  ];
  const given = conditions.flatMap(([condition, value]) =>
    value === undefined ? [] : [{ condition, value }],
  );
  const where = given.length === 0 ? "" : `WHERE ${given.map(({ condition }) => condition).join(" AND ")}`;
  const rows = yield* all(
    `SELECT * FROM audit_log ${where} ORDER BY audit_no DESC LIMIT ?`,
    ...given.map(({ value }) => value),
    Math.min(limit, MOST_LISTED),
  );
  return rows.map(auditRecord);
}

/** A page at a time: a log of years need not fit into memory. */
export function* verifyAudit(): SqlScript<AuditVerification> {
  const chain = new AuditChain();
  let entries = 0;
  let last: AuditVerification["last"] = null;
  for (;;) {
    const rows: readonly Row[] = yield* all(
      "SELECT * FROM audit_log WHERE audit_no > ? ORDER BY audit_no LIMIT ?",
      last?.no ?? 0,
      MOST_LISTED,
    );
    for (const row of rows) {
      const hash = row.bytes("hash");
      chain.take({ ...auditRecord(row), previousHash: row.bytes("previous_hash"), hash });
      last = { no: row.int("audit_no"), hash: hexOf(hash) };
      entries += 1;
    }
    if (rows.length < MOST_LISTED) return { entries, last, problem: chain.end() };
  }
}
