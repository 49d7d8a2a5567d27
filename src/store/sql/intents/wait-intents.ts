import { canonicalJson } from "../../../core/canonical-json.ts";
import type { JsonObject } from "../../../core/json.ts";
import { earlier } from "../../../core/usage/allowance.ts";
import {
  asksPermission,
  type NewBudgetWait,
  type NewCallWait,
  type NewMailWait,
  type NewRunWait,
  type NewWait,
  type WaitClock,
  type WaitKind,
} from "../../../core/wait.ts";
import { argumentsHashOf } from "../queries/wait-queries.ts";
import type { Row } from "../row.ts";
import type { RunHead } from "../run-head.ts";
import { all, exists, get, type SqlScript } from "../script.ts";
import { WAIT_KINDS, WAIT_STATUSES } from "../stored-words.ts";
import { addressInUse, takeAddress } from "../tables/address-rows.ts";
import { endWaiting } from "../tables/run-budgets.ts";
import type { RunRow } from "../tables/run-row.ts";
import { callNoAt, hasReceipt, withdrawWaits } from "../tables/tool-call-rows.ts";
import { changeRow, insertRow, type Transaction } from "../transaction.ts";

/**
 * Opens a wait for each question that is neither open nor answered and whose call is not settled; a call has at most
 * one open wait. Returns their numbers.
 */
export function* openWaits(tx: Transaction, run: RunRow, waits: readonly NewWait[]): SqlScript<number[]> {
  const opened: number[] = [];
  for (const wait of waits) {
    const index = yield* ask(tx, run, wait);
    if (index === null) continue;
    opened.push(index);
    run.hasOpenWaits = true;
  }
  return opened;
}

function ask(tx: Transaction, run: RunRow, wait: NewWait): SqlScript<number | null> {
  if (wait.kind === "budget") return askBudget(tx, run, wait);
  return "stepKey" in wait ? askCall(tx, run, wait) : askRun(tx, run, wait);
}

/** A question about the run as a whole, unless it is open already. */
function* askRun(tx: Transaction, run: RunRow, wait: NewRunWait | NewMailWait): SqlScript<number | null> {
  const isOpen = yield* exists(
    "SELECT 1 AS found FROM waits WHERE run_key = ? AND status = 'open' AND call_no IS NULL AND subject = ? LIMIT 1",
    run.key,
    canonicalJson(wait.subject),
  );
  return isOpen ? null : yield* insertWait(tx, run, null, { ...wait, argumentsHash: null });
}

function* askBudget(tx: Transaction, run: RunRow, wait: NewBudgetWait): SqlScript<number | null> {
  const open = yield* openBudgetWaits(run, wait.subject.budget);
  return open.length > 0 ? null : yield* insertWait(tx, run, null, { ...wait, argumentsHash: null });
}

const OPEN_BUDGET_WAITS =
  "SELECT wait_index FROM waits WHERE run_key = ? AND kind = 'budget' AND status = 'open' AND budget = ?";

function* openBudgetWaits(run: RunRow, budget: string): SqlScript<number[]> {
  const rows = yield* all(OPEN_BUDGET_WAITS, run.key, budget);
  return rows.map((row) => row.int("wait_index"));
}

/** The newest wait about the current attempt of a call. */
const NEWEST_WAIT = `SELECT waits.kind, waits.arguments_hash, waits.status
    FROM waits JOIN tool_calls USING (run_key, call_no, attempt)
   WHERE run_key = ? AND call_no = ? ORDER BY wait_index DESC LIMIT 1`;

function* askCall(tx: Transaction, run: RunRow, wait: NewCallWait): SqlScript<number | null> {
  const callNo = yield* callNoAt(run, wait);
  if (yield* hasReceipt(run.key, callNo)) return null;
  const newest = yield* get(NEWEST_WAIT, run.key, callNo);
  // A person may have answered while the worker was about to ask.
  if (newest !== null && isSameQuestion(newest, wait)) return null;
  // The earlier question was about another attempt, or about other arguments than would be sent now: it can no
  // longer be answered.
  yield* withdrawWaits(tx, run, callNo);
  return yield* insertWait(tx, run, callNo, yield* withAddress(tx, run, wait));
}

/**
 * The wait, whose run has its address now. If another run has it, the wait is due at once, and its call fails: nothing could
 * reach it.
 */
function* withAddress(tx: Transaction, run: RunRow, wait: NewCallWait): SqlScript<NewCallWait> {
  const { address } = wait;
  const owner = address === undefined ? null : yield* takeAddress(tx, run, address);
  if (address === undefined || owner === null) return wait;
  const why = addressInUse(run.runId, address, owner);
  return { ...wait, due: { inMs: 0 }, onDue: { action: "fail", why } };
}

/** Two doubts about the same attempt are one question, even if its tool asked for a person. */
function isSameQuestion(row: Row, { kind, argumentsHash }: NewCallWait): boolean {
  if (row.oneOf("status", WAIT_STATUSES) === "withdrawn") return false;
  const asked = row.oneOf("kind", WAIT_KINDS);
  if (asksPermission(kind) || asksPermission(asked))
    return asked === kind && argumentsHashOf(row) === argumentsHash;
  return true;
}

/** The budget was raised in another way. */
export function* withdrawBudgetWaits(
  tx: Transaction,
  run: RunRow,
  budgets: readonly string[],
): SqlScript<void> {
  for (const budget of budgets)
    for (const index of yield* openBudgetWaits(run, budget)) {
      const answer = { status: "withdrawn", answered_at: tx.now, answered_by: null, answer: null };
      changeRow(tx, run, "waits", { wait_index: index }, answer);
    }
}

type QuestionToInsert = WaitClock & {
  readonly kind: WaitKind;
  readonly matches?: string;
  readonly question: string;
  readonly subject: JsonObject;
  readonly argumentsHash: string | null;
};

/** Inserts an open wait, about the current attempt of a call, or about the run (null). Returns its number. */
export function* insertWait(
  tx: Transaction,
  run: RunHead,
  callNo: number | null,
  wait: QuestionToInsert,
): SqlScript<number> {
  const attempt = callNo === null ? 0 : yield* attemptOf(run, callNo);
  const { budget } = wait.subject;
  run.counts.waits += 1;
  insertRow(tx, run, "waits", {
    wait_index: run.counts.waits,
    kind: wait.kind,
    budget: wait.kind === "budget" && typeof budget === "string" ? budget : null,
    attempt,
    question: wait.question,
    subject: canonicalJson(wait.subject),
    arguments_hash: wait.argumentsHash === null ? null : Buffer.from(wait.argumentsHash, "hex"),
    created_at: tx.now,
    matches: wait.matches ?? null,
    on_due: wait.onDue === undefined ? null : canonicalJson(wait.onDue),
    remind_every_ms: wait.remindEveryMs ?? null,
    ...clockOf(tx, wait),
    call_no: callNo,
    status: "open",
    answered_at: null,
    answered_by: null,
    answer: null,
  });
  return run.counts.waits;
}

/** When the clock acts on a new wait, by the store's clock. */
function clockOf({ now }: Transaction, { due, remindEveryMs }: WaitClock) {
  return {
    due_at: due === undefined ? null : "at" in due ? due.at : now + due.inMs,
    remind_at: remindEveryMs === undefined ? null : now + remindEveryMs,
    reminders: remindEveryMs === undefined ? null : 0,
    escalated_at: null,
  };
}

/** When the clock has something to do about a run that waits; null if never. */
export function* nextWake(run: RunRow): SqlScript<number | null> {
  const row = yield* get(
    "SELECT min(due_at) AS due, min(remind_at) AS remind FROM waits WHERE run_key = ? AND status = 'open'",
    run.key,
  );
  return earlier(row?.optionalInt("due") ?? null, row?.optionalInt("remind") ?? null);
}

function* attemptOf(run: RunHead, callNo: number): SqlScript<number> {
  const call = yield* get(
    "SELECT attempt FROM tool_calls WHERE run_key = ? AND call_no = ?",
    run.key,
    callNo,
  );
  return call?.int("attempt") ?? 0;
}

/** A run whose last wait is answered is queued, to be resumed by a worker. Otherwise the clock knows when to look again. */
export function* queueIfAnswered(tx: Transaction, run: RunRow): SqlScript<void> {
  if (run.status !== "waiting") return;
  const hasOpen = yield* exists(
    "SELECT 1 AS found FROM waits WHERE run_key = ? AND status = 'open' LIMIT 1",
    run.key,
  );
  run.wakeAt = hasOpen ? yield* nextWake(run) : null;
  if (hasOpen) return;
  run.status = "queued";
  endWaiting(run, tx.now);
}

/** These calls are about to be removed: open waits about them are withdrawn, and answers are kept without their call. */
export function* partWaitsFromCalls(
  tx: Transaction,
  run: RunHead,
  firstCallNo: number,
  lastCallNo: number,
): SqlScript<void> {
  const waits = yield* all(
    `SELECT wait_index, status, answered_by, answer FROM waits
      WHERE run_key = ? AND call_no BETWEEN ? AND ? ORDER BY wait_index`,
    run.key,
    firstCallNo,
    lastCallNo,
  );
  for (const wait of waits) {
    const key = { wait_index: wait.int("wait_index") };
    changeRow(tx, run, "waits", key, { call_no: null });
    if (wait.oneOf("status", WAIT_STATUSES) !== "open") continue;
    const [people, answer] = [wait.optionalText("answered_by"), wait.optionalText("answer")];
    const withdrawn = { status: "withdrawn", answered_at: tx.now, answered_by: people, answer };
    changeRow(tx, run, "waits", key, withdrawn);
  }
}
