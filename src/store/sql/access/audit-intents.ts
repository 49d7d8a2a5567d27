import {
  type AuditEntry,
  type AuditRecord,
  chainEntries,
  TRIM_ACT,
  trimmedRange,
  trimTarget,
} from "../../../core/access/audit-chain.ts";
import { ConfigurationError } from "../../../core/errors.ts";
import { decisionOf, type Person } from "../../../core/person.ts";
import type { AuditTrim } from "../../store.ts";
import { all, get, type SqlScript } from "../script.ts";
import type { Transaction } from "../transaction.ts";
import { auditRow, entryOfBatch, lastEntry } from "./audit-rows.ts";

/** Two that append at once would follow the same entry. */
const AUDIT = "audit";

/** `batch` identifies the call: it may be run again after its commit, if the answer to that was lost. */
export function* recordAudit(
  tx: Transaction,
  entries: readonly AuditEntry[],
  batch: Uint8Array,
): SqlScript<void> {
  if (entries.length === 0) return;
  yield* tx.lockName(AUDIT);
  if ((yield* entryOfBatch(batch)) === null) yield* append(tx, entries, batch);
}

function* append(tx: Transaction, entries: readonly AuditEntry[], batch: Uint8Array): SqlScript<void> {
  const chained = chainEntries(yield* lastEntry(), tx.now, entries);
  for (const [i, entry] of chained.entries())
    tx.write({ kind: "insert", table: "audit_log", row: auditRow(entry, i === 0 ? batch : null) });
}

/** The most entries that one transaction removes. */
const MOST_TRIMMED = 10_000;

const OLD = "SELECT audit_no FROM audit_log WHERE audit_no < ? ORDER BY audit_no LIMIT ?";

type Trimmed = { readonly deleted: number; readonly isDone: boolean };

export function* trimAudit(
  tx: Transaction,
  { before }: AuditTrim,
  person: Person,
  batch: Uint8Array,
): SqlScript<Trimmed> {
  if (!Number.isSafeInteger(before))
    throw new ConfigurationError(
      `The audit log is to be trimmed before ${String(before)}: give whole milliseconds since 1970.`,
    );
  const { name, authenticated } = decisionOf(person, tx.now);
  yield* tx.lockName(AUDIT);
  const done = yield* entryOfBatch(batch);
  if (done !== null) return yield* trimmedBy(done, before);
  const kept = yield* firstKept(before);
  const old = (yield* all(OLD, kept, MOST_TRIMMED)).map((row) => row.int("audit_no"));
  const [first, last] = [old[0], old.at(-1)];
  if (first === undefined || last === undefined) return { deleted: 0, isDone: true };
  const entry: AuditEntry = {
    who: { name, id: authenticated?.id ?? null, role: null },
    act: TRIM_ACT,
    target: trimTarget({ first, last }),
    status: 200,
    problem: null,
    requestId: null,
  };
  // Before the others go: the entry follows the last of them.
  yield* append(tx, [entry], batch);
  for (const no of old) tx.write({ kind: "remove", table: "audit_log", key: { audit_no: no } });
  return { deleted: old.length, isDone: last + 1 === kept };
}

/** The first entry that is not older; the one behind the last if all are. */
function* firstKept(before: number): SqlScript<number> {
  const kept = yield* get("SELECT min(audit_no) AS first FROM audit_log WHERE at >= ?", before);
  return kept?.optionalInt("first") ?? (yield* lastEntry()).no + 1;
}

/** What this trim has done, from its entry. */
function* trimmedBy({ no, target }: AuditRecord, before: number): SqlScript<Trimmed> {
  const range = trimmedRange(target);
  if (range === null) throw new Error(`Entry ${no} of the audit log is no trim.`);
  const { first, last } = range;
  return { deleted: last - first + 1, isDone: last + 1 >= Math.min(no, yield* firstKept(before)) };
}
