import { type Decision, decisionOf, readDecision } from "../../../core/person.ts";
import type { Row } from "../row.ts";
import type { RunHead } from "../run-head.ts";
import { all, get, type SqlScript } from "../script.ts";
import { changeRow, removeRow, type Transaction } from "../transaction.ts";
import { personAt, personText } from "./person-text.ts";
import { parseJson, type RunRow } from "./run-row.ts";

const WAITING_MESSAGES =
  "SELECT * FROM messages WHERE run_key = ? AND status = 'waiting' ORDER BY message_no";

const RETURNED_BY_FAILURE = `SELECT message_no FROM messages
  WHERE run_key = ? AND status = 'returned' AND reason = 'failed' ORDER BY message_no`;

/** The messages of a run that nothing has taken, in order. */
export function waitingMessages(run: RunRow): SqlScript<readonly Row[]> {
  return all(WAITING_MESSAGES, run.key);
}

/** The sender of a stored message. */
export function senderOf(row: Row): Decision {
  return personAt(row.text("sent_by"), row.int("sent_at"));
}

/** The name of a stored sender. */
export function senderIn(text: string): string {
  return personAt(text, 0).name;
}

/** The person who started the run, as the sender of its input. */
export function* starterText(tx: Transaction, run: Pick<RunHead, "key">): SqlScript<string> {
  const row = yield* get("SELECT started_by FROM runs WHERE run_key = ?", run.key);
  const starter = readDecision(parseJson(row?.optionalText("started_by") ?? null));
  return personText(starter ?? decisionOf({}, tx.now));
}

/** The run has ended: nothing will take the messages that are left, and its addresses are free. */
export function* returnMessages(tx: Transaction, run: RunRow): SqlScript<void> {
  for (const row of yield* waitingMessages(run)) {
    const returned = { status: "returned", settled_at: tx.now, reason: run.status, call_no: null };
    changeRow(tx, run, "messages", { message_no: row.int("message_no") }, returned);
  }
  // A run that failed may be resumed.
  if (run.status === "failed") return;
  for (const row of yield* all("SELECT address FROM addresses WHERE run_key = ?", run.key))
    removeRow(tx, run, "addresses", { address: row.text("address") });
}

/** A run that had failed continues: what it returned because of that may be taken after all. Returns the numbers. */
export function* restoreMessages(tx: Transaction, run: RunRow): SqlScript<readonly number[]> {
  const numbers = (yield* all(RETURNED_BY_FAILURE, run.key)).map((row) => row.int("message_no"));
  const waiting = { status: "waiting", settled_at: null, reason: null, call_no: null };
  for (const message of numbers) changeRow(tx, run, "messages", { message_no: message }, waiting);
  return numbers;
}
