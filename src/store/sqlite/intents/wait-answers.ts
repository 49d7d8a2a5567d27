import { assertPayload, canonicalJson } from "../../../core/canonical-json.ts";
import { AlreadySettledError, ConfigurationError } from "../../../core/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../core/json.ts";
import type { ToolOutput } from "../../../core/message.ts";
import {
  approvalNeedOf,
  decideApproval,
  decisionOf,
  namesInWords,
  type Person,
  personFacts,
} from "../../../core/person.ts";
import { estimateResultTokens, estimateTokens } from "../../../core/usage/token-estimate.ts";
import { type Settlement, type WaitAnswer } from "../../../core/wait.ts";
import type { NewReceipt } from "../../store.ts";
import type { Database } from "../database.ts";
import { peopleOf, peopleText } from "../queries/wait-queries.ts";
import { coverRow } from "../tables/event-rows.ts";
import { raiseBudget } from "../tables/run-budgets.ts";
import { type RunRow, saveRun, startedBy } from "../tables/run-row.ts";
import { receiptFacts, writeAnyReceipt } from "../tables/tool-call-rows.ts";
import { answerDigest, insertWait, queueIfAnswered } from "./wait-intents.ts";
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
export function approve(database: Database, now: number, id: string, person: Person): void {
  const target = requireOpenWait(database, id, "approval", "possible_duplicate");
  const { run, wait } = target;
  const need = approvalNeedOf(wait.subject);
  const starter = need.notStarter ? startedBy(database, run.runId) : null;
  const decision = decisionOf(person, now);
  const progress = decideApproval(need, starter, wait.people, decision);
  if (progress.kind === "again")
    throw new AlreadySettledError(`Wait ${id} stays open: ${progress.why}.`, { id, status: "open" });
  if (progress.kind === "refused")
    throw new ConfigurationError(`Wait ${id} is not approved: ${progress.why}.`);
  if (progress.kind === "enough") {
    closeWait(database, now, target, { answer: { approved: true }, person });
    return;
  }
  database.run(
    "UPDATE waits SET answered_by = ? WHERE run_no = ? AND wait_index = ? AND status = 'open'",
    peopleText([...wait.people, decision]),
    run.runNo,
    wait.index,
  );
  saveRun(database, run, now, "wait.approved", {
    wait: wait.index,
    ...personFacts(decision),
    needed: progress.needed,
    answer: answerDigest(database, run, wait.index),
    ...callFacts(wait),
  });
}

function callFacts({ call }: AnswerableWait): JsonObject {
  return call === null ? {} : { step: call.step, turn: call.turnIndex, call: call.callIndex };
}

export function deny(database: Database, now: number, id: string, why: string, person: Person): void {
  const target = requireOpenWait(database, id, "approval", "possible_duplicate", "budget");
  closeWait(database, now, target, { answer: { approved: false, why: assertReason(why) }, person });
}

export function answer(database: Database, now: number, id: string, value: Json, person: Person): void {
  const target = requireOpenWait(database, id, "escalation", "question", "budget");
  const { run, wait } = target;
  assertPayload(value, "The answer");
  const given = { answer: { as: "answered", value }, person } as const;
  if (wait.kind === "budget") {
    raiseBudget(run, now, wait.subject.budget, numberOf(value));
    closeWait(database, now, target, given);
    return;
  }
  if (wait.kind === "question") {
    assertChoice(id, wait.subject, value);
    // The call is a question, so the answer is its result.
    closeWait(database, now, target, given, (call) =>
      settleCall(database, run, now, call, {
        status: "succeeded",
        output: resultOf(value),
        errorCode: null,
        uncertain: false,
      }),
    );
    return;
  }
  const text = typeof value === "string" ? value : canonicalJson(value);
  const output = { type: "error-text", value: `It needed a person, who answered: ${text}` } as const;
  const uncertain = mayHaveHappened(database, run, wait);
  closeWait(database, now, target, given, (call) =>
    settleCall(database, run, now, call, { status: "failed", output, errorCode: "answered", uncertain }),
  );
}

/** People type numbers as text. A blank text is not a number. */
function numberOf(value: Json): Json {
  return typeof value === "string" && value.trim() !== "" ? Number(value) : value;
}

/** A question with choices accepts only one of them. */
function assertChoice(id: string, { arguments: asked }: JsonObject, value: Json): void {
  const choices = isJsonObject(asked) && Array.isArray(asked.choices) ? asked.choices : null;
  if (choices === null || choices.some((choice) => choice === value)) return;
  throw new ConfigurationError(
    `${JSON.stringify(value)} is none of the answers to ${id}: use one of ${choices.map((choice) => JSON.stringify(choice)).join(", ")}.`,
  );
}

/** An answer does not settle the call. A tool that asked for a person did so instead of its work. */
function mayHaveHappened(database: Database, run: RunRow, { call }: AnswerableWait): boolean {
  if (call === null) return false;
  const row = database.get("SELECT recovery FROM tool_calls WHERE call_no = ?", call.callNo);
  if (row?.text("recovery") === "repeat") return false;
  const other = database.get(
    `SELECT 1 AS found FROM tool_call_tries
      WHERE run_no = ? AND call_no = ? AND outcome NOT IN ('needs_human', 'not_applied') LIMIT 1`,
    run.runNo,
    call.callNo,
  );
  return other !== null;
}

export function settle(
  database: Database,
  now: number,
  id: string,
  settlement: Settlement,
  person: Person,
): void {
  const run = requireRunOfCall(database, id);
  const call = requireCall(database, run, id);
  if (call.status !== "in_doubt")
    throw new AlreadySettledError(
      `Call ${id} is ${call.status} and not in doubt: there is nothing to settle, and it stays as it is.`,
      { id, status: call.status },
    );
  assertUnanswered(database, run, call, id);
  const receipt = receiptOf(id, settlement);
  const wait = findOpenWaitAbout(database, run, call) ?? recordWait(database, run, now, call);
  closeWait(database, now, { run, wait }, { answer: settlement, person }, () =>
    receipt === null ? {} : settleCall(database, run, now, call, receipt),
  );
}

/**
 * A call that may run again stays in doubt until a worker starts it, and the question about that attempt is already
 * answered.
 */
function assertUnanswered(database: Database, run: RunRow, call: CallLocation, id: string): void {
  const answered = database.get(
    `SELECT answered_by, answered_at FROM waits JOIN tool_calls USING (call_no, attempt)
      WHERE waits.run_no = ? AND call_no = ? AND waits.status = 'answered' AND json_extract(answer, '$.as') = 'retry' LIMIT 1`,
    run.runNo,
    call.callNo,
  );
  if (answered === null) return;
  throw new AlreadySettledError(
    `Call ${id} was settled by ${namesInWords(peopleOf(answered))}, who let it run again: that stays as it is; resume run ${run.runId}, or cancel it.`,
    { id, status: "answered" },
  );
}

/** As if a tool had returned it. */
function resultOf(value: Json): ToolOutput {
  return typeof value === "string" ? { type: "text", value } : { type: "json", value };
}

/** The receipt of a settlement; null if the call may run again. */
function receiptOf(id: string, settlement: Settlement): PersonReceipt | null {
  switch (settlement.as) {
    case "succeeded":
      assertPayload(settlement.result, "The result");
      return {
        status: "succeeded",
        output: resultOf(settlement.result),
        errorCode: null,
        uncertain: false,
      };
    case "failed": {
      const value = `It was settled as failed: ${assertReason(settlement.why)}`;
      return {
        status: "failed",
        output: { type: "error-text", value },
        errorCode: "settled_failed",
        uncertain: false,
      };
    }
    case "retry":
      return null;
    default:
      throw new ConfigurationError(
        `Call ${id} cannot be settled as ${JSON.stringify((settlement as { as?: unknown }).as)}: use succeeded, retry or failed.`,
      );
  }
}

/** The part of a receipt that a person decides. */
type PersonReceipt = Pick<NewReceipt, "status" | "output" | "errorCode" | "uncertain">;

/** Written in the same transaction, so that no late receipt comes between the settlement and its effect. */
function settleCall(
  database: Database,
  run: RunRow,
  now: number,
  call: CallLocation,
  given: PersonReceipt,
): JsonObject {
  const receipt: NewReceipt = {
    ...given,
    callIndex: call.callIndex,
    blob: null, // Text that people type is short enough.
    tokens: estimateResultTokens(given.output, JSON.stringify(given.output.value), estimateTokens),
    source: "person",
    correlationId: null,
    duplicateOf: null,
  };
  const digest = writeAnyReceipt(database, run, now, call, receipt);
  return receiptFacts(call.step, call.turnIndex, receipt, digest);
}

/** Records a settlement that was not asked for, with the person and the reason. */
function recordWait(database: Database, run: RunRow, now: number, call: CallLocation): AnswerableWait {
  const wait = { kind: "in_doubt", question: "", subject: {}, argumentsHash: null } as const;
  return doubtWait({ index: insertWait(database, run, now, call.callNo, wait), wasAsked: false, call });
}

/** The answer, then the receipt it may result in: a settled call withdraws the waits that are still open about it. */
function closeWait(
  database: Database,
  now: number,
  { run, wait }: { readonly run: RunRow; readonly wait: AnswerableWait },
  { answer, person }: { readonly answer: WaitAnswer; readonly person: Person },
  settleIt: (call: CallLocation) => JsonObject = () => ({}),
): void {
  const { index, wasAsked, call } = wait;
  const decision = decisionOf(person, now);
  database.run(
    `UPDATE waits SET status = 'answered', answered_at = ?, answered_by = ?, answer = ?
      WHERE run_no = ? AND wait_index = ? AND status = 'open'`,
    now,
    peopleText([...("approved" in answer && answer.approved ? wait.people : []), decision]),
    canonicalJson(answer),
    run.runNo,
    index,
  );
  coverRow(run, "question", run.runNo, index);
  const receipt = call === null ? {} : settleIt(call);
  // A paused run did not ask about this, and resumes only when a person resumes it.
  if (wasAsked) queueIfAnswered(database, run, now);
  saveRun(database, run, now, "wait.answered", {
    wait: index,
    ...personFacts(decision),
    answer: answerDigest(database, run, index),
    ...callFacts(wait),
    ...receipt,
  });
}

function assertReason(why: unknown): string {
  if (typeof why === "string" && why.trim() !== "") return why;
  throw new ConfigurationError(
    "Give the reason in a sentence: the model, or the code that made the call, gets it.",
  );
}
