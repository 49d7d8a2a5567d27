import type { JsonObject } from "../../../core/json.ts";
import type { Decision } from "../../../core/person.ts";
import { decideDue, nextReminder } from "../../../core/run/due-wait.ts";
import {
  type PersonReceipt,
  receiptOfAnswer,
  receiptOfEscalation,
  timedOutReceipt,
} from "../../../core/run/wait-answer.ts";
import type { OnDue, WaitAnswer } from "../../../core/wait.ts";
import type { SqlScript } from "../script.ts";
import { type RunRow, requireRun, saveRun } from "../tables/run-row.ts";
import { changeRow, type Transaction } from "../transaction.ts";
import { assertOpenPart } from "../verify/verify-open.ts";
import { answerWait, mayHaveHappened } from "./wait-answers.ts";
import { nextWake, queueIfAnswered } from "./wait-intents.ts";
import { type OpenWait, openWaitsOf } from "./wait-lookup.ts";

/** Does what the clock has to do about a run, if its time has come. Returns when that is next; null if never. */
export function* wakeRun(tx: Transaction, runId: string): SqlScript<number | null> {
  const run = yield* requireRun(runId);
  if (run.wakeAt === null || run.wakeAt > tx.now) return run.wakeAt;
  yield* assertOpenPart(run);
  if (run.status === "queued") {
    run.wakeAt = null;
    saveRun(tx, run, "run.woken", {});
    return null;
  }
  const facts: JsonObject[] = [];
  for (const wait of yield* openWaitsOf(run)) {
    const did = yield* actOn(tx, run, wait);
    if (did !== null) facts.push({ wait: wait.index, ...did });
  }
  run.wakeAt = yield* nextWake(run);
  yield* queueIfAnswered(tx, run);
  saveRun(tx, run, "run.woken", { waits: facts });
  return run.wakeAt;
}

/** What was done about the wait, with the receipt of its call; null if nothing. */
function* actOn(tx: Transaction, run: RunRow, wait: OpenWait): SqlScript<JsonObject | null> {
  const decision = decideDue(wait, tx.now);
  switch (decision.kind) {
    case "not_yet":
      return null;
    case "remind": {
      const { remindAt, remindEveryMs, reminders, dueAt, escalatedAt } = wait;
      const next =
        remindAt === null || remindEveryMs === null ? null : nextReminder(remindAt, remindEveryMs, tx.now);
      setClock(tx, run, wait, { dueAt, remindAt: next, reminders: reminders + 1, escalatedAt });
      return { did: "reminded" };
    }
    case "due":
      return yield* expire(tx, run, wait, decision.onDue);
  }
}

function* expire(tx: Transaction, run: RunRow, wait: OpenWait, onDue: OnDue): SqlScript<JsonObject> {
  if (onDue.action === "escalate") {
    const { remindAt, reminders } = wait;
    setClock(tx, run, wait, { dueAt: null, remindAt, reminders, escalatedAt: tx.now });
    return { did: "escalated" };
  }
  const { answer, receipt } = yield* endOf(run, wait, onDue);
  const facts = yield* answerWait(tx, { run, wait }, { answer, by: theClock(tx), isClock: true }, receipt);
  return { did: onDue.action, ...facts };
}

/** The answer that the clock gives, and the receipt of the call that waited. */
function* endOf(
  run: RunRow,
  wait: OpenWait,
  onDue: Exclude<OnDue, { action: "escalate" }>,
): SqlScript<{ readonly answer: WaitAnswer; readonly receipt: PersonReceipt | null }> {
  switch (onDue.action) {
    case "deny":
      return { answer: { approved: false, why: onDue.why }, receipt: null };
    case "fail":
      return { answer: { as: "timed_out", why: onDue.why }, receipt: timedOutReceipt(onDue.why) };
    case "answer": {
      const value =
        wait.kind === "time" && wait.dueAt !== null
          ? { until: new Date(wait.dueAt).toISOString() }
          : onDue.value;
      const receipt =
        wait.kind === "escalation"
          ? receiptOfEscalation(value, yield* mayHaveHappened(run, wait))
          : receiptOfAnswer(value);
      return { answer: { as: "answered", value }, receipt };
    }
  }
}

/** Answers are recorded with who gave them. */
function theClock({ now }: Transaction): Decision {
  return { name: "the clock", at: now, authenticated: null };
}

type ClockState = Pick<OpenWait, "dueAt" | "remindAt" | "reminders" | "escalatedAt">;

function setClock(
  tx: Transaction,
  run: RunRow,
  { index }: OpenWait,
  { dueAt, remindAt, reminders, escalatedAt }: ClockState,
): void {
  const clock = { due_at: dueAt, remind_at: remindAt, reminders, escalated_at: escalatedAt };
  changeRow(tx, run, "waits", { wait_index: index }, clock);
}
