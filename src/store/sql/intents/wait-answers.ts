import { assertPayload, canonicalJson } from "../../../core/canonical-json.ts";
import { AlreadySettledError, ConfigurationError } from "../../../core/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../core/json.ts";
import {
  approvalNeedOf,
  type Decision,
  decideApproval,
  decisionOf,
  namesInWords,
  type Person,
  personFacts,
  readDecision,
} from "../../../core/person.ts";
import {
  assertReason,
  decideChoice,
  decideSettlement,
  type PersonReceipt,
  reasonNotToSettle,
  receiptOfAnswer,
  receiptOfEscalation,
} from "../../../core/run/wait-answer.ts";
import { estimateResultTokens, estimateTokens } from "../../../core/usage/token-estimate.ts";
import { asksPeople, type Settlement, type WaitAnswer } from "../../../core/wait.ts";
import type { NewReceipt } from "../../store.ts";
import { peopleOf, peopleText } from "../queries/wait-queries.ts";
import { all, exists, get, type SqlScript } from "../script.ts";
import { RECOVERY_CLASSES } from "../stored-words.ts";
import { raiseBudget } from "../tables/run-budgets.ts";
import { parseJson, type RunRow, saveRun } from "../tables/run-row.ts";
import { receiptFacts, writeAnyReceipt } from "../tables/tool-call-rows.ts";
import { changeRow, type Transaction } from "../transaction.ts";
import { insertWait, queueIfAnswered } from "./wait-intents.ts";
import {
  type AnswerableWait,
  type CallLocation,
  doubtWait,
  findOpenWaitAbout,
  requireCall,
  requireOpenWait,
  requireRunOfCall,
} from "./wait-lookup.ts";

/** Approves a call; or, if that takes more people, records this approval and leaves the wait open. */
export function* approve(tx: Transaction, id: string, person: Person): SqlScript<void> {
  const target = yield* requireOpenWait(id, "approval", "possible_duplicate");
  const { run, wait } = target;
  const starter = readDecision(parseJson(run.origin.startedBy));
  const decision = decisionOf(person, tx.now);
  const progress = decideApproval(approvalNeedOf(wait.subject), starter, wait.people, decision);
  switch (progress.kind) {
    case "again":
      throw new AlreadySettledError(`Wait ${id} stays open: ${progress.why}.`, { id, status: "open" });
    case "refused":
      throw new ConfigurationError(`Wait ${id} is not approved: ${progress.why}.`);
    case "enough":
      yield* closeWait(tx, target, { answer: { approved: true }, person });
      return;
    case "more": {
      const people = peopleText([...wait.people, decision]);
      const open = { status: "open", answered_at: null, answered_by: people, answer: null };
      changeRow(tx, run, "waits", { wait_index: wait.index }, open);
      saveRun(tx, run, "wait.approved", {
        wait: wait.index,
        ...personFacts(decision),
        needed: progress.needed,
        ...callFacts(wait),
      });
    }
  }
}

function callFacts({ call }: AnswerableWait): JsonObject {
  return call === null ? {} : { step: call.step, turn: call.turnIndex, call: call.callIndex };
}

export function* deny(tx: Transaction, id: string, why: string, person: Person): SqlScript<void> {
  const target = yield* requireOpenWait(id, "approval", "possible_duplicate", "budget");
  yield* closeWait(tx, target, { answer: { approved: false, why: assertReason(why) }, person });
}

export function* answer(tx: Transaction, id: string, value: Json, person: Person): SqlScript<void> {
  const target = yield* requireOpenWait(id, "escalation", "question", "budget");
  assertPayload(value, "The answer");
  const receipt = yield* receiptFor(tx, id, target, value);
  yield* closeWait(tx, target, { answer: { as: "answered", value }, person }, receipt);
}

/** What the answer means for the call that asked. An answer about a budget raises it. */
function* receiptFor(
  tx: Transaction,
  id: string,
  { run, wait }: WaitOfRun,
  value: Json,
): SqlScript<PersonReceipt | null> {
  switch (wait.kind) {
    case "budget":
      raiseBudget(run, tx.now, wait.subject.budget, numberOf(value));
      return null;
    case "question": {
      const choice = decideChoice(id, wait.subject, value);
      if (choice.kind === "refused") throw new ConfigurationError(choice.why);
      return receiptOfAnswer(value);
    }
    case "approval":
    case "possible_duplicate":
    case "escalation":
    case "in_doubt":
    case "time":
    case "message":
      return receiptOfEscalation(value, yield* mayHaveHappened(run, wait));
  }
}

/** People type numbers as text. A blank text is not a number. */
function numberOf(value: Json): Json {
  return typeof value === "string" && value.trim() !== "" ? Number(value) : value;
}

/** An answer does not settle the call. A tool that asked for a person did so instead of its work. */
export function* mayHaveHappened(run: RunRow, { call }: AnswerableWait): SqlScript<boolean> {
  if (call === null) return false;
  const row = yield* get(
    "SELECT recovery FROM tool_calls WHERE run_key = ? AND call_no = ?",
    run.key,
    call.callNo,
  );
  if (row?.oneOf("recovery", RECOVERY_CLASSES) === "repeat") return false;
  return yield* exists(
    `SELECT 1 AS found FROM tool_call_attempts
      WHERE run_key = ? AND call_no = ? AND outcome NOT IN ('needs_human', 'needs_wait', 'not_applied') LIMIT 1`,
    run.key,
    call.callNo,
  );
}

export function* settle(
  tx: Transaction,
  id: string,
  settlement: Settlement,
  person: Person,
): SqlScript<void> {
  const run = yield* requireRunOfCall(id);
  const { call, status } = yield* requireCall(run, id);
  if (status !== "in_doubt")
    throw new AlreadySettledError(
      `Call ${id} is ${status} and not in doubt: there is nothing to settle, and it stays as it is.`,
      { id, status },
    );
  yield* assertNoSleep(run, call, id);
  yield* assertUnanswered(run, call, id);
  const decision = decideSettlement(id, settlement);
  const wait = (yield* findOpenWaitAbout(run, call)) ?? (yield* recordWait(tx, run, call));
  const receipt = decision.kind === "receipt" ? decision.receipt : null;
  yield* closeWait(tx, { run, wait }, { answer: settlement, person }, receipt);
}

const OPEN_SLEEP = `SELECT kind, matches, due_at FROM waits
   WHERE run_key = ? AND call_no = ? AND status = 'open' AND kind IN ('time', 'message')`;

function* assertNoSleep(run: RunRow, call: CallLocation, id: string): SqlScript<void> {
  const row = yield* get(OPEN_SLEEP, run.key, call.callNo);
  if (row === null) return;
  const kind = row.oneOf("kind", ["time", "message"] as const);
  const sleep = { kind, matches: row.optionalText("matches"), dueAt: row.optionalInt("due_at") };
  throw new ConfigurationError(reasonNotToSettle(id, run.runId, sleep));
}

/** The answers about the current attempt of a call. */
const ANSWERS = `SELECT waits.answer, waits.answered_by, waits.answered_at
    FROM waits JOIN tool_calls USING (run_key, call_no, attempt)
   WHERE run_key = ? AND call_no = ? AND waits.status = 'answered' ORDER BY wait_index`;

/**
 * A call that may run again stays in doubt until a worker starts it, and the question about that attempt is already
 * answered.
 */
function* assertUnanswered(run: RunRow, call: CallLocation, id: string): SqlScript<void> {
  const answers = yield* all(ANSWERS, run.key, call.callNo);
  const retry = answers.find((row) => {
    const given = parseJson(row.optionalText("answer"));
    return isJsonObject(given) && given.as === "retry";
  });
  if (retry === undefined) return;
  throw new AlreadySettledError(
    `Call ${id} was settled by ${namesInWords(peopleOf(retry))}, who let it run again: that stays as it is; resume run ${run.runId}, or cancel it.`,
    { id, status: "answered" },
  );
}

/** Records a settlement that was not asked for, with the person and the reason. */
function* recordWait(tx: Transaction, run: RunRow, call: CallLocation): SqlScript<AnswerableWait> {
  const wait = { kind: "in_doubt", question: "", subject: {}, argumentsHash: null } as const;
  const index = yield* insertWait(tx, run, call.callNo, wait);
  return doubtWait({ index, wasAsked: false, call });
}

export type WaitOfRun = { readonly run: RunRow; readonly wait: AnswerableWait };

/** An answer, and who gave it. */
type GivenAnswer = {
  readonly answer: WaitAnswer;
  readonly by: Decision;
  /** Nobody answered in time. */
  readonly isClock?: true;
};

/** A person answers a wait. */
function* closeWait(
  tx: Transaction,
  target: WaitOfRun,
  { answer, person }: { readonly answer: WaitAnswer; readonly person: Person },
  receipt: PersonReceipt | null = null,
): SqlScript<void> {
  const { run, wait } = target;
  const decision = decisionOf(person, tx.now);
  const facts = yield* answerWait(tx, target, { answer, by: decision }, receipt);
  // A paused run did not ask about this, and resumes only when a person resumes it.
  if (wait.wasAsked) yield* queueIfAnswered(tx, run);
  saveRun(tx, run, "wait.answered", {
    wait: wait.index,
    ...personFacts(decision),
    ...callFacts(wait),
    ...facts,
  });
}

/**
 * Writes the answer, then the receipt it may result in: a settled call withdraws the waits that are still open about it.
 * The event of the intent follows.
 */
export function* answerWait(
  tx: Transaction,
  { run, wait }: WaitOfRun,
  { answer, by, isClock }: GivenAnswer,
  receipt: PersonReceipt | null = null,
): SqlScript<JsonObject> {
  const { index, kind, call } = wait;
  const earlier = "approved" in answer && answer.approved ? wait.people : [];
  const answered = {
    status: "answered",
    answered_at: tx.now,
    answered_by: peopleText([...earlier, by]),
    answer: canonicalJson(answer),
  };
  changeRow(tx, run, "waits", { wait_index: index }, answered);
  // A person has looked into why workers die in it.
  if (kind === "escalation" && call === null) run.stalls = 0;
  return call === null || receipt === null
    ? {}
    : yield* settleCall(
        tx,
        run,
        call,
        receipt,
        asksPeople(kind) && isClock === undefined ? "person" : "pawl",
      );
}

/** Written in the same transaction, so that no late receipt comes between the settlement and its effect. */
function* settleCall(
  tx: Transaction,
  run: RunRow,
  call: CallLocation,
  given: PersonReceipt,
  source: NewReceipt["source"],
): SqlScript<JsonObject> {
  const receipt: NewReceipt = {
    ...given,
    callIndex: call.callIndex,
    blob: null, // Text that people type is short enough.
    tokens: estimateResultTokens(given.output, JSON.stringify(given.output.value), estimateTokens),
    source,
    correlationId: null,
    duplicateOf: null,
  };
  yield* writeAnyReceipt(tx, run, call, receipt);
  return receiptFacts(call.step, call.turnIndex, receipt);
}
