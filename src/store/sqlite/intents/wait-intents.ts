import { canonicalJson } from "../../../core/canonical-json.ts";
import { type Json } from "../../../core/json.ts";
import { asksPermission, type NewCallWait, type NewWait, type WaitKind } from "../../../core/wait.ts";
import type { Database, Row } from "../database.ts";
import { argumentsHashOf, storedAnswerDigest } from "../queries/wait-queries.ts";
import type { RunHead } from "../run-head.ts";
import { coverRow } from "../tables/event-rows.ts";
import { endWaiting } from "../tables/run-budgets.ts";
import { type RunRow } from "../tables/run-row.ts";
import { callNoAt, hasReceipt, withdrawWaits } from "../tables/tool-call-rows.ts";

/**
 * Opens a wait for each question that is neither open nor answered and whose call is not settled; a call has at most
 * one open wait. Returns their numbers.
 */
export function openWaits(database: Database, run: RunRow, now: number, waits: readonly NewWait[]): number[] {
  return waits.flatMap((wait) => {
    if (wait.kind === "budget") {
      if (isAskedAboutBudget(database, run, wait.subject.budget)) return [];
      run.hasOpenWaits = true;
      return [insertWait(database, run, now, null, { ...wait, argumentsHash: null })];
    }
    const callNo = callNoAt(database, run, wait);
    if (hasReceipt(database, callNo)) return [];
    const newest = database.get(
      `SELECT kind, arguments_hash, waits.status FROM waits JOIN tool_calls USING (call_no, attempt)
        WHERE waits.run_no = ? AND call_no = ? ORDER BY wait_index DESC LIMIT 1`,
      run.runNo,
      callNo,
    );
    // A person may have answered while the worker was about to ask.
    if (newest !== null && isSameQuestion(newest, wait)) return [];
    // The earlier question was about another attempt, or about other arguments than would be sent now: it can no
    // longer be answered.
    run.hasOpenWaits = true;
    withdrawWaits(database, run, now, callNo);
    return [insertWait(database, run, now, callNo, wait)];
  });
}

function isAskedAboutBudget(database: Database, run: RunRow, budget: string): boolean {
  const open = database.get(
    `SELECT 1 AS found FROM waits WHERE run_no = ? AND kind = 'budget' AND status = 'open'
        AND json_extract(subject, '$.budget') = ? LIMIT 1`,
    run.runNo,
    budget,
  );
  return open !== null;
}

/** The budget was raised in another way. */
export function withdrawBudgetWaits(
  database: Database,
  run: RunRow,
  now: number,
  budgets: readonly string[],
): void {
  for (const budget of budgets) {
    const withdrawn = database.all(
      `UPDATE waits SET status = 'withdrawn', answered_at = ? WHERE run_no = ? AND kind = 'budget' AND status = 'open'
          AND json_extract(subject, '$.budget') = ? RETURNING wait_index`,
      now,
      run.runNo,
      budget,
    );
    for (const wait of withdrawn) coverRow(run, "question", run.runNo, wait.int("wait_index"));
  }
}

/** Two doubts about the same attempt are one question, even if its tool asked for a person. */
function isSameQuestion(row: Row, { kind, argumentsHash }: NewCallWait): boolean {
  if (row.text("status") === "withdrawn") return false;
  const askedKind = row.text("kind") as WaitKind;
  if (asksPermission(kind) || asksPermission(askedKind))
    return askedKind === kind && argumentsHashOf(row) === argumentsHash;
  return true;
}

export function insertWait(
  database: Database,
  run: RunRow,
  now: number,
  callNo: number | null,
  wait: Pick<NewWait, "kind" | "question" | "subject"> & Pick<NewCallWait, "argumentsHash">,
): number {
  const last = database.get("SELECT max(wait_index) AS n FROM waits WHERE run_no = ?", run.runNo);
  const index = (last?.optionalInt("n") ?? 0) + 1;
  database.run(
    `INSERT INTO waits (run_no, wait_index, kind, call_no, attempt, question, subject, arguments_hash, status, created_at)
     VALUES (?, ?, ?, ?, coalesce((SELECT attempt FROM tool_calls WHERE call_no = ?), 0), ?, ?, ?, 'open', ?)`,
    run.runNo,
    index,
    wait.kind,
    callNo,
    callNo,
    wait.question,
    canonicalJson(wait.subject),
    wait.argumentsHash === null ? null : Buffer.from(wait.argumentsHash, "hex"),
    now,
  );
  coverRow(run, "question", run.runNo, index);
  return index;
}

/** A run whose last wait is answered is queued, to be resumed by a worker. */
export function queueIfAnswered(database: Database, run: RunRow, now: number): void {
  if (run.status !== "waiting") return;
  const open = database.get(
    "SELECT 1 AS found FROM waits WHERE run_no = ? AND status = 'open' LIMIT 1",
    run.runNo,
  );
  if (open !== null) return;
  run.status = "queued";
  endWaiting(run, now);
}

/**
 * These calls are about to be removed: open waits about them are withdrawn, and answers are kept without their call.
 * Returns the numbers of the answered waits, each with its new digest.
 */
export function partWaitsFromCalls(
  database: Database,
  run: RunHead,
  now: number,
  firstCallNo: number,
  lastCallNo: number,
): Json[] {
  const calls = [run.runNo, firstCallNo, lastCallNo] as const;
  const about = "WHERE run_no = ? AND call_no BETWEEN ? AND ?";
  const answered = database.all(
    `SELECT wait_index FROM waits ${about} AND answered_by IS NOT NULL`,
    ...calls,
  );
  database.run(
    `UPDATE waits SET status = 'withdrawn', answered_at = ? ${about} AND status = 'open'`,
    now,
    ...calls,
  );
  for (const wait of database.all(`UPDATE waits SET call_no = NULL ${about} RETURNING wait_index`, ...calls))
    coverRow(run, "question", run.runNo, wait.int("wait_index"));
  return answered.map((row) => [row.int("wait_index"), answerDigest(database, run, row.int("wait_index"))]);
}

/** Covers the person, the answer, and the arguments it is about. */
export function answerDigest(database: Database, run: RunHead, index: number): string {
  const row = database.get("SELECT * FROM waits WHERE run_no = ? AND wait_index = ?", run.runNo, index);
  if (row === null) throw new Error(`Wait ${index} of run ${run.runId} is gone.`);
  return storedAnswerDigest(row);
}
