import { type AuditEntry, chainEntries, TRIM_ACT } from "../../../core/access/audit-chain.ts";
import { ConfigurationError } from "../../../core/errors.ts";
import { decisionOf, type Person } from "../../../core/person.ts";
import type { AuditTrim } from "../../store.ts";
import { all, get, type SqlScript } from "../script.ts";
import type { Transaction } from "../transaction.ts";
import { auditRow, lastEntry } from "./audit-rows.ts";

/** Two that append at once would follow the same entry. */
const AUDIT = "audit";

export function* recordAudit(tx: Transaction, entries: readonly AuditEntry[]): SqlScript<void> {
  if (entries.length === 0) return;
  yield* tx.lockName(AUDIT);
  for (const entry of chainEntries(yield* lastEntry(), tx.now, entries))
    tx.write({ kind: "insert", table: "audit_log", row: auditRow(entry) });
}

/** The most entries that one transaction removes. */
const MOST_TRIMMED = 10_000;

const OLDER = "SELECT audit_no FROM audit_log WHERE audit_no < ? ORDER BY audit_no LIMIT ?";

export function* trimAudit(
  tx: Transaction,
  { before }: AuditTrim,
  person: Person,
): SqlScript<{ readonly deleted: number; readonly isDone: boolean }> {
  if (!Number.isSafeInteger(before))
    throw new ConfigurationError(
      `The audit log is to be trimmed before ${String(before)}: give whole milliseconds since 1970.`,
    );
  const { name, authenticated } = decisionOf(person, tx.now);
  yield* tx.lockName(AUDIT);
  const last = yield* lastEntry();
  const kept = yield* get("SELECT min(audit_no) AS first FROM audit_log WHERE at >= ?", before);
  const firstKept = kept?.optionalInt("first") ?? last.no + 1;
  const old = (yield* all(OLDER, firstKept, MOST_TRIMMED)).map((row) => row.int("audit_no"));
  const newest = old.at(-1);
  if (newest === undefined) return { deleted: 0, isDone: true };
  for (const no of old) tx.write({ kind: "remove", table: "audit_log", key: { audit_no: no } });
  const trimmed: AuditEntry = {
    who: { name, id: authenticated?.id ?? null, role: null },
    act: TRIM_ACT,
    target: String(newest + 1),
    status: 200,
    problem: null,
    requestId: null,
  };
  for (const entry of chainEntries(last, tx.now, [trimmed]))
    tx.write({ kind: "insert", table: "audit_log", row: auditRow(entry) });
  return { deleted: old.length, isDone: newest + 1 === firstKept };
}
